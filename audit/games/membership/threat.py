"""Who the adversary is: what it sees, what it knows of the randomness, and whose membership is in doubt."""

from attacks.canaries import parse_canaries
from attacks.registry import get_attack
from audit.games.membership.config import AuditConfig
from condensers.registry import get_method


def threat_model(config: AuditConfig) -> tuple[str, ...]:
    """Who the adversary is, in plain words."""
    network = get_method(config.method).releases == "network"
    sees = (
        "the released synthetic set with its labels; no network is trained on it"
        if config.level == "set"
        else "the released generator with its weights; it knows a record's label when it searches for its latent code"
        if config.level == "generator"
        else "the released network (its confidences), trained on the records themselves"
        if network
        else "the network trained on the synthetic set (its confidences), not the set itself"
    )
    knows = (
        "The adversary does not know the randomness of the training (initial network, samples, noise), which are drawn "
        "anew in every run."
        if network
        else "The adversary does not know the networks, augmentations and starting noise of the audited condensation."
        if config.independent_randomness
        else "The adversary knows the public randomness of the condensation (networks, augmentations, starting noise), "
        f"{_shared_by(config)}{'' if config.level != 'model' else '; the training of the victim stays unknown'}."
    )
    learns = (
        f"The adversary knows all records of the pool with their labels and has condensed {_halves(config)} "
        "(shadow runs); it does not know which records were in the audited runs."
        if get_attack(config.attack).needs_fit_runs
        else "The adversary knows the record it asks about and its label, and a threshold learned on other runs."
    )
    told = (
        (
            "CONTROL: membership was shuffled. The attack was given labels independent of membership; it must find "
            "nothing.",
        )
        if config.shuffle_membership
        else ()
    )
    planted = (
        (
            f"Canaries were added to the records ({_counted(config.canaries)}). Each is in a run with probability ½, "
            "as every audited record is.",
        )
        if config.canaries
        else ()
    )
    sees += (
        ""
        if config.bits is None
        else f"; its pixels were clipped to the data's range and rounded to {config.bits} bits"
    )
    return (*told, f"Level {config.level}: the adversary sees {sees}.", knows, learns, *_in_doubt(config), *planted)


def _counted(canaries: str) -> str:
    """`mislabelled:4,blank:1` in words."""
    return ", ".join(f"{number} {kind}" for kind, number in parse_canaries(canaries).items())


def _halves(config: AuditConfig) -> str:
    if config.audited_records is None:
        return "random halves of them"
    if config.enumerated is not None:
        return f"them with all combinations of the {max(config.enumerated)} audited ones of a class"
    return "them with random halves of the audited ones"


def _in_doubt(config: AuditConfig) -> tuple[str, ...]:
    """Whose membership is in doubt, where it is not everybody's."""
    if config.audited_records is None:
        return ()
    number = len(config.audited_records)
    return (
        f"The membership of {number} audited records is in doubt; all other records of the pool are in every run, and "
        "the adversary knows this.",
    )


def _shared_by(config: AuditConfig) -> str:
    if config.public_draws == 1:
        return "which all runs share"
    return f"of which there are {config.public_draws} draws: the attack on a run learns from runs of its own draw only"
