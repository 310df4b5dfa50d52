"""What a misspelt name may have meant, among millions of texts that lie in one byte string."""

from __future__ import annotations

import difflib
import heapq

import numpy as np

from bique.shapes import Int

Text = bytes | np.ndarray
Offsets = Int[np.ndarray, "texts_plus_one"]

# up to so many texts are compared one by one; of more, so many that share the most bytes with the name
PROMISING = 500
LIKELY = 50
LEAST_LIKENESS = 0.4
# of longer texts the beginnings are compared: difflib takes seconds for two of ten thousand characters
COMPARED = 200
TEXTS_AT_ONCE = 1 << 17


def nearest_texts(text: Text, offsets: Offsets, name: str, count: int) -> list[tuple[float, int]]:
    """(likeness, place) of the texts most like a name, best first; text i is `text[offsets[i]:offsets[i + 1]]`.

    By shared three-letter pieces first, then by difflib's ratio. Empty texts are like nothing.
    """
    wanted = name.casefold()[:COMPARED]
    pieces = _pieces(wanted)

    def overlap(candidate: tuple[str, int]) -> float:
        others = _pieces(candidate[0])
        return len(pieces & others) / len(pieces | others)

    places = promising(text, offsets, name)
    texts = [bytes(text[offsets[i] : offsets[i + 1]]).decode("utf-8").casefold()[:COMPARED] for i in places]
    candidates = [(other, place) for other, place in zip(texts, places, strict=True) if other]
    ratio = difflib.SequenceMatcher(b=wanted)
    found: list[tuple[float, int]] = []
    for other, place in heapq.nlargest(LIKELY, candidates, key=overlap):
        ratio.set_seq1(other)
        if (likeness := ratio.ratio()) > LEAST_LIKENESS:
            found.append((likeness, place))
    return heapq.nlargest(count, found, key=lambda one: one[0])


def promising(text: Text, offsets: Offsets, name: str) -> list[int]:
    """Places of the texts that share the most pieces of three bytes with a name; all places, if they are few.

    A million texts in half a second instead of ten: pieces are counted by column, and only in ASCII does a
    capital letter equal a small one.
    """
    if len(offsets) <= PROMISING + 1:
        return list(range(len(offsets) - 1))
    wanted = name.encode("utf-8", "surrogatepass").lower()[: 4 * COMPARED]
    size = min(3, len(wanted))
    if not size:
        return []
    is_piece = np.zeros(256**size, dtype=bool)
    is_piece[_piece_numbers(wanted, size)] = True
    best: list[tuple[float, int]] = []
    for start in range(0, len(offsets) - 1, TEXTS_AT_ONCE):
        ends = np.asarray(offsets[start : start + TEXTS_AT_ONCE + 1])
        block = bytes(text[ends[0] : ends[-1]]).lower()
        overlap = _overlap(block, ends - ends[0], is_piece, size, len(wanted))
        top = np.argpartition(-overlap, min(PROMISING, len(overlap) - 1))[:PROMISING]
        found = [(float(overlap[i]), start + int(i)) for i in top if overlap[i] > 0]
        best = heapq.nlargest(PROMISING, best + found)
    return [place for _, place in best]


def _overlap(block: bytes, offsets: np.ndarray, is_piece: np.ndarray, size: int, wanted: int) -> np.ndarray:
    """For each text of a block about the share of pieces that it has in common with the name."""
    starts, ends = offsets[:-1], offsets[1:]
    hits = is_piece[_piece_numbers(block, size)] if len(block) >= size else np.zeros(0, dtype=bool)
    for back in range(1, size):  # pieces that begin in one text and end in the next are none
        across = ends - back
        hits[across[(across >= 0) & (across < len(hits))]] = False
    before = np.zeros(len(block) + 1, dtype=np.int64)
    before[1 : len(hits) + 1] = np.cumsum(hits)
    before[len(hits) + 1 :] = before[len(hits)]
    # a piece that a text repeats counts once at most for each of the name's
    shared = np.minimum(before[ends] - before[starts], wanted)
    return shared / (ends - starts + wanted - shared)


def _piece_numbers(text: bytes, size: int) -> np.ndarray:
    """The pieces of `size` bytes at each place, as numbers."""
    values = np.frombuffer(text, dtype=np.uint8).astype(np.uint32)
    count = len(values) - size + 1
    numbers = np.zeros(count, dtype=np.uint32)
    for place in range(size):
        numbers = numbers << 8 | values[place : place + count]
    return numbers


def _pieces(text: str) -> set[str]:
    padded = f"  {text} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}
