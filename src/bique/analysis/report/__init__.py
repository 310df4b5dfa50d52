"""A report: one HTML file on runs of one graph, for whoever has neither bique nor a network."""

from bique.analysis.report.page import report

__all__ = ["report"]
