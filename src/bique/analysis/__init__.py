"""Analysis: what relations learned, what the facts say about them, the paper's tables beside ours."""

from bique.analysis.geometry import RelationGeometry, relation_geometry
from bique.analysis.patterns import RelationPattern, relation_patterns
from bique.analysis.reproduce import TABLES, Table, Wanted, measured, reproduce, wanted
from bique.analysis.results import Results, Seeds

__all__ = [
    "TABLES",
    "RelationGeometry",
    "RelationPattern",
    "Results",
    "Seeds",
    "Table",
    "Wanted",
    "measured",
    "relation_geometry",
    "relation_patterns",
    "reproduce",
    "wanted",
]
