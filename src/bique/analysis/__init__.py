"""Analysis: the paper's tables beside ours."""

from bique.analysis.reproduce import TABLES, Table, Wanted, measured, reproduce, wanted
from bique.analysis.results import Results, Seeds

__all__ = ["TABLES", "Results", "Seeds", "Table", "Wanted", "measured", "reproduce", "wanted"]
