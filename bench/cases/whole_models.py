"""ViT-B/16, BERT-base and MiniLM."""

from __future__ import annotations

import functools

import minilm
import models
import torch

from .case import Case, Stack, Work, Workload

_BASE = Stack(layers=12, width=768, feedforward=3072, heads=12)
_MINILM = Stack(layers=6, width=384, feedforward=1536, heads=12)
_PATCHES = 196

_TEXT = """
A benchmark is a promise that somebody else can keep: whoever runs it again, on a machine of their
own, should find the same order of things, if not the same numbers. That asks for some care. The
clock of a processor drifts with its temperature, other programs come and go, and memory that was
touched a moment ago is nearer than memory that was not. So nothing here is measured once, and
nothing is measured alone; every engine gets its turn in every round, and what is compared are turns
of the same round. What remains after that is mostly what the programs themselves do.
"""
#: Words of each sentence: a batch as a search engine would get it.
_SENTENCE_WORDS = (5, 8, 9, 12, 14, 17, 19, 23, 26, 31, 37, 45, 52, 64, 78, 100)


def build_vit(batch: int) -> Workload:
    model = models.vit_b_16()
    return Workload(model, (torch.randn(batch, 3, 224, 224),))


def build_bert(batch: int, length: int) -> Workload:
    model = models.bert_like(
        vocabulary=30522, positions=512, layers=12, heads=12, width=768, feedforward=3072
    )
    ids = torch.randint(1, 30522, (batch, length))
    return Workload(model, (ids, torch.ones_like(ids)))


def sentences() -> list[str]:
    words = _TEXT.split()
    return [" ".join(words[:count]) for count in _SENTENCE_WORDS]


def build_minilm() -> Workload:
    ids, mask = minilm.tokenize(sentences())
    return Workload(minilm.load(), (ids, mask))


def _base_work(batch: int, rows: int, extra_flops: float, extra_parameters: int) -> Work:
    return Work(
        flops=_BASE.flops(batch * rows, batch * rows * rows) + batch * extra_flops,
        bytes=4.0 * (_BASE.parameters() + extra_parameters),
        score_bytes=4.0 * batch * _BASE.heads * rows * rows,
    )


def _vit_case(batch: int) -> Case:
    patch_parameters = 3 * 16 * 16 * 768
    head_parameters = 768 * 1000
    return Case(
        name=f"vit_b_16/{batch}x197/float32/none",
        build=functools.partial(build_vit, batch),
        work=_base_work(
            batch,
            _PATCHES + 1,
            2.0 * (_PATCHES * patch_parameters + head_parameters),
            patch_parameters + head_parameters,
        ),
        family=f"vit_b_16-{batch}",
        batch=batch,
        length=_PATCHES + 1,
        fresh=batch == 1,
    )


def _bert_case(batch: int, length: int) -> Case:
    return Case(
        name=f"bert_base/{batch}x{length}/float32/none",
        build=functools.partial(build_bert, batch, length),
        work=_base_work(batch, length, 2.0 * 768 * 768, 768 * 768),
        family=f"bert_base-{batch}",
        batch=batch,
        length=length,
    )


def _minilm_case() -> Case:
    # Words are a little fewer than tokens; only the package knows how many these are.
    if minilm.folder() is None:
        lengths = [count + 2 for count in _SENTENCE_WORDS]
    else:
        _, mask = minilm.tokenize(sentences())
        lengths = mask.sum(dim=1).tolist()
    batch, longest = len(lengths), max(lengths)
    return Case(
        name=f"minilm/{batch}x{longest}/float32/padding",
        build=build_minilm,
        work=Work(
            flops=_MINILM.flops(sum(lengths), sum(n * n for n in lengths)),
            bytes=4.0 * _MINILM.parameters(),
            score_bytes=4.0 * batch * _MINILM.heads * longest**2,
        ),
        family="minilm",
        batch=batch,
        length=longest,
        mask="padding",
    )


CASES = [_vit_case(1), _vit_case(8), _bert_case(1, 128), _bert_case(8, 384), _minilm_case()]
