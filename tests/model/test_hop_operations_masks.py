"""Masked values are distinguished from readable ones by the descriptions of operations."""

from __future__ import annotations

from functools import partial

import pytest

from fll_hbase.model.hop_operations import masks_values, without_masked_ways
from fll_hbase.model.operations import InputField, Read, Transform
from tests.support.work import calls_allowed, count_calls


def transform(description: str, name: str = "t", column: str = "uid") -> Transform:
    return Transform(name, description, (InputField("read", column),), ())


@pytest.mark.parametrize(
    "description",
    [
        "sha2(uid, 256)",
        "SHA256(a.uid)",
        "upper(md5(uid))",
        "cast(sha2(uid, 256) AS string)",
        "substr(to_hex(sha1(concat(uid, salt))), 1, 8)",
        "dbo.mask_email(mail)",
        "sha256 of UID with the salt of the year",
        "hashed",
        "masked",
        "TRANSFORMATION: f(mail), masked",
        "IDENTITY, masked",
        "uid: TRANSFORMATION: sha2; k: TRANSFORMATION: md5",
        "md5(a) | md5(b)",
        "sha2(concat(uid, '('), 256)",
        "sha-256 of UID, salted",
    ],
)
def test_a_masking_operation_counts(description: str) -> None:
    assert masks_values(transform(description))


@pytest.mark.parametrize(
    "description",
    [
        "uid",
        "upper(uid)",
        "sha2(uid, 256) || uid",
        "concat(sha2(uid, 256), uid)",
        "sha2(uid) + uid",
        "md5(a) | a",
        "k: TRANSFORMATION: sha2; uid: IDENTITY",
        "hash join on uid",
        "unmasked",
        "masked_or_not || uid",
        "sha2(uid",
        "upper(" * 40 + "md5(uid)" + ")" * 40,
        "COPY",
        "sha2(uid || '(', 256) || concat(uid, ')')",
        "mask & uid",
        "digest * uid",
        "hash AND uid",
        "hash = uid",
        "mask-uid",
        "hashtags(uid)",
        "hashtag of UID",
        "md5(uid) " + "x" * 20_000,
    ],
)
def test_any_other_operation_counts_as_readable(description: str) -> None:
    assert not masks_values(transform(description))


def test_a_copied_column_may_be_called_a_hash() -> None:
    assert not masks_values(transform("t.hash_id", column="hash_id"))


def test_without_a_description_the_name_of_the_operation_counts() -> None:
    assert masks_values(transform("", name="hash_uid"))
    assert not masks_values(transform("", name="join"))


def test_masked_ways_end_at_the_operation() -> None:
    masking, other = transform("sha1(uid)"), transform("upper(uid)")
    read = Read("read", "", None, "", ())  # type: ignore[arg-type]
    assert without_masked_ways([read, masking, other]) == [
        read,
        Transform("t", "sha1(uid)", (), ()),
        other,
    ]


@pytest.mark.parametrize("size", [10, 1_000, 9_000])
def test_the_cost_follows_the_length(size: int) -> None:
    for text in (
        "upper(" * (size // 6),
        "md5(" + "(" * size,
        "a" * size,
        "; ".join(["md5(a)"] * (size // 8)),
    ):
        item = transform(text)
        assert count_calls(partial(masks_values, item)) <= calls_allowed(size, 300_000)
