"""The table of known datasets: where each comes from, under which licence, with which counts and checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bique.graph.download import Pin
from bique.graph.graph import SPLITS, Split

CONVE = ("TimDettmers/ConvE", "f3c0eb286025410fa5b4c04696c918264163d0ca")
BIQUE = ("guojiapub/BiQUE", "548de69f803f541b30fc4ab27c6d25632f1a7bf7")
INDUCTIVE = ("BinWang28/InductivE", "28ac8f2799ee01b6fa8f8648e2e68cf09f929eb7")


@dataclass(frozen=True)
class Download:
    """A file at a public address, kept as `file`: one split, or (split None) an archive of all three."""

    address: str
    file: str
    pin: Pin
    split: Split | None = None


@dataclass(frozen=True)
class Dataset:
    """What is known of a dataset before anything of it is on this machine.

    `files` pins train.txt, valid.txt and test.txt inside `<name>.tar.xz`, the form kept in a folder of archives; it is
    empty where only the bytes of a download are pinned. `labels` pins the archive's entity_names.tsv, if it has one.
    `published` are the counts of the paper or of the substitute's own description; `verified` says that importing the
    pinned bytes was seen to give them.
    """

    name: str
    title: str
    summary: str
    origin: str
    licence: str
    published: Mapping[str, int] | None = None
    files: Mapping[Split, Pin] = field(default_factory=dict[Split, Pin])
    labels: Pin | None = None
    downloads: tuple[Download, ...] = ()
    on_bad: Literal["stop", "quarantine"] = "stop"
    trim_lines: bool = False
    verified: bool = True
    substitute: str | None = None
    bundled: bool = False

    @property
    def archive(self) -> str:
        """Its file in a folder of archives."""
        return f"{self.name}.tar.xz"

    def checksums(self) -> dict[str, Pin]:
        """Every pinned file: the downloads, or else what is inside the archive."""
        inside = {f"{self.name}/{split}.txt": pin for split, pin in self.files.items()}
        return {download.file: download.pin for download in self.downloads} or inside


def _counts(entities: int, relations: int, train: int, valid: int, test: int) -> dict[str, int]:
    return {"entities": entities, "relations": relations, "train": train, "valid": valid, "test": test}


def _address(source: tuple[str, str], path: str) -> str:
    """GitHub's address of a file at a commit: its bytes cannot change."""
    repository, commit = source
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _sha256(digest: str, size: int | None = None) -> Pin:
    return Pin("sha256", digest, size)


def _git_blob(digest: str) -> Pin:
    return Pin("git-blob", digest)


def _conve(file: str, pin: Pin) -> tuple[Download, ...]:
    return (Download(_address(CONVE, file), file, pin),)


def _one_file_per_split(
    name: str, source: tuple[str, str], path: str, pins: Mapping[Split, Pin]
) -> tuple[Download, ...]:
    """`{split}` in the path stands for train, valid and test."""
    return tuple(
        Download(_address(source, path.format(split=split)), f"{name}.{split}.txt", pins[split], split)
        for split in SPLITS
    )


_CN_100K: dict[Split, Pin] = {
    "train": _sha256("ab1f9d757f166a5344c0e1dde4cf47af012a99a64710cece43c5c926963d228f", 3_454_502),
    "valid": _sha256("7d3feaae5f98bfa5061ec287b4623c5922580b90f910d6c90c629ac109c4adff", 33_431),
    "test": _sha256("c90350c5b564c83b17d155328dcd3697165dc03718fc2134d017abf6d85e7740", 31_841),
}
_YAGO3_10: dict[Split, Pin] = {
    "train": _git_blob("fc545c54135c75e67c511223275c9027cdda9411"),
    "valid": _git_blob("25e807701cd9a27aa47be302ce8929120df86a4d"),
    "test": _git_blob("0aaccb47d3efbc1a72f976c9aaabd63562d5d16e"),
}
_ATOMIC: dict[Split, Pin] = {
    "train": _git_blob("d9c19f1b7cd2c7bf7ad73a6c23ae52994a854ec5"),
    "valid": _git_blob("f847fd37adb13a63d1e374f0f666b4665d25613f"),
    "test": _git_blob("364a060c7aaa6d05298380ffe9eacd67dfb29c6c"),
}

DATASETS: tuple[Dataset, ...] = (
    Dataset(
        name="wn18rr",
        title="WN18RR",
        summary="WordNet synsets by offset; 210 test facts touch an entity never seen in train",
        origin=f"{CONVE[0]}@{CONVE[1]}:WN18RR.tar.gz",
        licence="Princeton WordNet licence (free use with notice); repository MIT",
        published=_counts(40_943, 11, 86_835, 3_034, 3_134),
        files={
            "train": _sha256("038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df", 3_135_377),
            "valid": _sha256("453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab", 110_415),
            "test": _sha256("0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5", 113_180),
        },
        labels=_sha256("6cd5d35aa66d11c2197a34ada74b402e4bfa09c85dbf6cef191a90c02f86bb66", 983_457),
        downloads=_conve("WN18RR.tar.gz", _sha256("1eb9152f804c140d163462c0d49f65e5a0b30ab5fbb375c5e3353c11a6249060")),
    ),
    Dataset(
        name="fb15k-237",
        title="FB15k-237",
        summary="Freebase facts without near-inverse relations; 28 test facts touch an entity never seen in train",
        origin=f"{CONVE[0]}@{CONVE[1]}:FB15k-237.tar.gz",
        licence="Freebase, CC BY; repository MIT",
        published=_counts(14_541, 237, 272_115, 17_535, 20_466),
        files={
            "train": _sha256("61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a", 21_005_177),
            "valid": _sha256("749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9", 1_285_566),
            "test": _sha256("e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b", 1_499_033),
        },
        labels=_sha256("8a8057b70887cab9608c3aca8c2b483941434e8f030febc037f82c4813322ed8", 381_092),
        downloads=_conve(
            "FB15k-237.tar.gz", _sha256("311df7930f842a02979eaa7a802484a6afe62303c07f915f1e6edbc30cbe05e8")
        ),
    ),
    Dataset(
        name="yago3-10",
        title="YAGO3-10 (integers, the paper's)",
        summary="YAGO3 facts as integer ids; six entities ending in à or ą have two ids, as in the published figures",
        origin=f"{BIQUE[0]}@{BIQUE[1]}:src_data/YAGO3-10/{{train,valid,test}}",
        licence="YAGO3, CC BY; repository without a licence",
        published=_counts(123_188, 37, 1_079_040, 5_000, 5_000),
        files=_YAGO3_10,
        downloads=_one_file_per_split("yago3-10", BIQUE, "src_data/YAGO3-10/{split}", _YAGO3_10),
        verified=False,
    ),
    Dataset(
        name="yago3-10-strings",
        title="YAGO3-10 (names)",
        summary="YAGO3 facts with names, every entity once: near, but not equal, to what the published figures used",
        origin=f"{CONVE[0]}@{CONVE[1]}:YAGO3-10.tar.gz",
        licence="YAGO3, CC BY; repository MIT",
        published=_counts(123_182, 37, 1_079_040, 5_000, 5_000),
        downloads=_conve("YAGO3-10.tar.gz", _git_blob("be63d16955e1951cb6539710204af43cb38da7d9")),
        verified=False,
    ),
    Dataset(
        name="cn-100k",
        title="CN-100K",
        summary="ConceptNet phrases; 3 train facts are duplicates, 96 test facts touch an entity never seen in train",
        origin=f"{BIQUE[0]}@{BIQUE[1]}:src_data/conceptnet-100k/{{train,valid,test}}",
        licence="ConceptNet, CC BY-SA 4.0; repository without a licence",
        published=_counts(78_334, 34, 100_000, 1_200, 1_200),
        files=_CN_100K,
        downloads=_one_file_per_split("cn-100k", BIQUE, "src_data/conceptnet-100k/{split}", _CN_100K),
    ),
    Dataset(
        name="atomic",
        title="ATOMIC",
        summary="if-then phrases; lines with an empty tail (7 in valid, 8 in test) are set aside, as the paper did",
        origin=f"{INDUCTIVE[0]}@{INDUCTIVE[1]}:data/atomic/{{train,valid,test}}.preprocessed.txt",
        licence="ATOMIC, CC BY 4.0; repository MIT",
        published=_counts(304_388, 9, 610_536, 87_700, 87_701),
        files=_ATOMIC,
        downloads=_one_file_per_split("atomic", INDUCTIVE, "data/atomic/{split}.preprocessed.txt", _ATOMIC),
        on_bad="quarantine",
        # the published loaders strip the line, not the field: blanks behind a head make another entity
        trim_lines=True,
        verified=False,
    ),
    Dataset(
        name="yago3-10-quarter",
        title="YAGO3-10-quarter",
        summary="a quarter of YAGO3-10's train set (names) with the real valid and test sets",
        origin="LARS-research/AdaProp@159715c9950e67cea432859f9381cea617348a16 (train, decoded to names),"
        " villmow/datasets_knowledge_embedding@9e392453d6804d1f51c13e5650ae58ed48b638d5 (valid, test)",
        licence="YAGO3, CC BY; AdaProp without a licence, villmow MIT",
        published=_counts(106_195, 37, 269_760, 5_000, 5_000),
        files={
            "train": _sha256("d0c0c2f5fa6b8954c6bbeb9324aa10a31db959544140a99c64ce46def2dae463", 12_799_521),
            "valid": _sha256("c9018b77ec77e99f8d48bc3258d404f10b2049a6c7b4ac6eb663697e799dc6f5", 236_350),
            "test": _sha256("003887ca8a34c90fcaf9b0250b1c30a4b5f617f80f8cf0aeab9723333061598a", 238_041),
        },
        substitute="a substitute for YAGO3-10: never compare its results with published figures",
    ),
    Dataset(
        name="atomic-sub",
        title="ATOMIC-sub",
        summary="drawn from ATOMIC; a third of valid and test touches an entity never seen in train",
        origin=f"{INDUCTIVE[0]}@{INDUCTIVE[1]} (valid, test),"
        " wangcunxiang/TuckER@4a81be322c8502769a3e1e02cc453c322bf9635b (raw dev split)",
        licence="ATOMIC, CC BY 4.0; InductivE MIT, TuckER without a licence",
        published=_counts(116_989, 9, 204_981, 10_000, 10_000),
        files={
            "train": _sha256("064327ab1378c7ee3881e73cbcad9401fe909bcff152ec1ca9a95683445e8d51", 9_429_334),
            "valid": _sha256("53ed27bb706bfaf0e21107a0839cf0fd20e4a236dbe5b99c0405450f20b5db90", 457_248),
            "test": _sha256("a2d4668f585190f27a031f3b2daa6be4e15951bb8c23f8a64dfa02f1dd82c204", 454_435),
        },
        substitute="a substitute for ATOMIC: never compare its results with published figures",
    ),
    Dataset(
        name="wordnet",
        title="WordNet (bundled)",
        summary="everyday words and places of WordNet, about 5,000 entities; ships with the package",
        origin="WordNet 3.0, Princeton University",
        licence="Princeton WordNet licence (free use with notice)",
        published=_counts(5_046, 13, 12_035, 714, 714),
        bundled=True,
    ),
)
