"""Training: batches, optimizer, step, loop. The only loop over epochs of the library is in loop.py."""

from bique.training.loop import Outcome, train
from bique.training.plan import Plan, make_plan
from bique.training.progress import Reporter, Silent, StopRequest
from bique.training.session import Session, choose_device

__all__ = ["Outcome", "Plan", "Reporter", "Session", "Silent", "StopRequest", "choose_device", "make_plan", "train"]
