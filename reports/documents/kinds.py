"""The kinds of report, told apart in one place: a new kind is one builder and one line in each `match`."""

from reports.documents import (
    attacks,
    attribute,
    continual,
    grid,
    membership,
    reproduction,
    theory,
    utility,
    visual,
    worst_case,
)
from reports.documents.attribute import AttributeMaterial
from reports.documents.blocks import Block, Document
from reports.documents.membership import MembershipMaterial
from reports.documents.reproduction import ReproductionMaterial
from reports.documents.theory import TheoryMaterial
from reports.documents.visual import NearestMaterial, VisualMaterial
from reports.documents.worst_case import WorstCaseMaterial
from reports.records.attacks import CompareReport
from reports.records.grid import GridReport
from reports.records.utility import ContinualReport, UtilityReport

AuditMaterial = MembershipMaterial | VisualMaterial | WorstCaseMaterial | AttributeMaterial
# Reports that cannot stand side by side with others: they tested nothing, or hold several audits, or no adversary.
SingleMaterial = (
    NearestMaterial
    | GridReport
    | CompareReport
    | ReproductionMaterial
    | UtilityReport
    | ContinualReport
    | TheoryMaterial
)
AnyMaterial = AuditMaterial | SingleMaterial


def build_document(material: AnyMaterial) -> Document:
    """The whole report of one run."""
    match material:
        case MembershipMaterial():
            return membership.build_membership(material)
        case VisualMaterial():
            return visual.build_visual(material)
        case WorstCaseMaterial():
            return worst_case.build_worst_case(material)
        case AttributeMaterial():
            return attribute.build_attribute(material)
        case NearestMaterial():
            return visual.build_nearest(material)
        case GridReport():
            return grid.build_grid(material)
        case CompareReport():
            return attacks.build_attacks(material)
        case ReproductionMaterial():
            return reproduction.build_reproduction(material)
        case UtilityReport():
            return utility.build_utility(material)
        case ContinualReport():
            return continual.build_continual(material)
        case TheoryMaterial():
            return theory.build_theory(material)


def findings_and_rest(material: AuditMaterial) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """What was found, for a page of a comparison, and the rest of the report."""
    match material:
        case MembershipMaterial():
            return membership.findings(material), membership.rest(material)
        case VisualMaterial():
            return visual.findings(material), visual.rest(material)
        case WorstCaseMaterial():
            return worst_case.findings(material.report), worst_case.rest(material.report)
        case AttributeMaterial():
            return attribute.findings(material.report), attribute.rest(material.report)
