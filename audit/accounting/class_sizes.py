"""Records per class of the training sets, known without the data; in the order of the labels."""

CLASS_SIZES: dict[str, tuple[int, ...]] = {
    "mnist": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    "fashion-mnist": (6000,) * 10,
    "cifar10": (5000,) * 10,
    "svhn": (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659),
    # The official training split by the attribute "Male": no, yes.
    "celeba": (94509, 68261),
    "digits": (178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
    # Income up to and above 50K.
    "adult": (24720, 7841),
}
