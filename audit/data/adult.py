"""Adult (census income): `adult.data` and `adult.test` as the UCI repository keeps them, CC BY 4.0.

Zheng & Li §V-D read a record by a linear network 14×64, so a record is 14 numbers, one for each column. They do not
state their encoding; this one is fixed beforehand and takes nothing from the records. A category is its place in the
list of `adult.names`, with "?" (unknown) as one more at the end; a quantity is scaled over a fixed range and cut at its
ends. Class 0 is <=50K, class 1 is >50K.
"""

from pathlib import Path

import numpy as np

from audit.data.sniff import describe_file
from audit.data.source import Source
from condensers.errors import BadData

FILES = {"train": "adult.data", "test": "adult.test"}
CLASSES = ("<=50K", ">50K")
UNKNOWN = "?"


def _listed(names: str) -> tuple[str, ...]:
    return tuple(names.split(", "))


# A range for a quantity, the list of adult.names for a category. Ranges are constants, not measured from the records:
# adult.names keeps ages above 16, hours above 0 and weights above 1; the other ends are round numbers.
COLUMNS: dict[str, range | tuple[str, ...]] = {
    "age": range(17, 91),
    "workclass": _listed(
        "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, Never-worked"
    ),
    "fnlwgt": range(1, 1_500_001),
    "education": _listed(
        "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, "
        "Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool"
    ),
    "education-num": range(1, 17),
    "marital-status": _listed(
        "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, Married-AF-spouse"
    ),
    "occupation": _listed(
        "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
        "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, "
        "Priv-house-serv, Protective-serv, Armed-Forces"
    ),
    "relationship": _listed("Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried"),
    "race": _listed("White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black"),
    "sex": _listed("Female, Male"),
    "capital-gain": range(100_001),
    "capital-loss": range(5_001),
    "hours-per-week": range(1, 100),
    "native-country": _listed(
        "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), India, "
        "Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, Vietnam, "
        "Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, Columbia, "
        "Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, Trinadad&Tobago, Peru, "
        "Hong, Holand-Netherlands"
    ),
}


def find(folder: Path) -> Path | None:
    return folder if (folder / FILES["train"]).is_file() else None


def read(folder: Path, split: str) -> Source | None:
    path = folder / FILES[split]
    if not path.is_file():
        return None
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise BadData(f"{path}: is {describe_file(path)}, not a table in plain text; download it again") from error
    rows = [
        _encode_row(f"{path}: line {number}", line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("|")  # adult.test starts with a remark
    ]
    if not rows:
        raise BadData(f"{path}: holds no records")
    table = np.array([features for features, _ in rows], dtype=np.float32)
    labels = np.array([label for _, label in rows], dtype=np.int64)
    return Source(labels=labels, shape=(len(COLUMNS),), num_classes=len(CLASSES), read=lambda chosen: table[chosen])


def _encode_row(where: str, line: str) -> tuple[list[float], int]:
    """Fourteen numbers in [0, 1] and the class."""
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != len(COLUMNS) + 1:
        raise BadData(f"{where} has {len(fields)} fields; expected {len(COLUMNS)} and the class, separated by commas")
    income = fields[-1].removesuffix(".")  # adult.test ends its lines with a full stop
    if income not in CLASSES:
        raise BadData(f"{where}: class {fields[-1]!r} is not one of {', '.join(CLASSES)}")
    return [_encode(where, name, field) for name, field in zip(COLUMNS, fields, strict=False)], CLASSES.index(income)


def _encode(where: str, column: str, field: str) -> float:
    allowed = COLUMNS[column]
    if isinstance(allowed, range):
        if not field.isdecimal():
            raise BadData(f"{where}: {column} {field!r} is not a whole number")
        return (min(max(int(field), allowed[0]), allowed[-1]) - allowed[0]) / (allowed[-1] - allowed[0])
    if field == UNKNOWN:
        return 1.0
    if field not in allowed:
        raise BadData(f"{where}: {column} {field!r} is not in the list of adult.names")
    return allowed.index(field) / len(allowed)
