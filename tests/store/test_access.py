"""Tokens and grants in the table: hashed, revoked for good, and left alone by audit, repair and retention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import access_rows, layout
from fll_hbase.keys.row_kinds import is_known
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.errors import CorruptRow, InvalidQuery, NotFound
from fll_hbase.store.access import GRANTS_MAX, AccessStore
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.tables import Put, Table, open_table
from tests.support.audit_runner import findings, repaired, wrong
from tests.support.copy_runs import copying

NOW_MS = 1_700_000_000_000
READ, RECORD = Grant(Role.READER, "bank*"), Grant(Role.RECORDER, "ns|1 %")
ANA, ETL = Subject(SubjectKind.USER, "ana@example.org"), Subject(SubjectKind.GROUP, "etl | prod")

names = st.text(min_size=1, max_size=20)
subjects = st.builds(Subject, st.sampled_from(SubjectKind), names)
grants = st.builds(Grant, st.sampled_from(Role), names)


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


@pytest.fixture
def access(table: Table) -> AccessStore:
    return AccessStore(table, clock=lambda: NOW_MS)


def rows(table: Table) -> dict[bytes, dict[bytes, bytes]]:
    scanned = table.scan(*(layout.ACCESS, b"k}"))
    return {key: {column: cell.value for column, cell in row.items()} for key, row in scanned}


class TestKeys:
    @given(subjects)
    def test_a_subject_is_read_as_written(self, subject: Subject) -> None:
        assert access_rows.parse_subject(access_rows.grants_row(subject)) == subject

    @given(grants)
    def test_a_grant_is_read_as_written(self, grant: Grant) -> None:
        column = access_rows.grant_column(grant)
        assert access_rows.parse_grant(column) == grant
        assert is_known(layout.ACCESS, column)

    @given(names)
    def test_a_token_is_read_as_written(self, token_id: str) -> None:
        assert access_rows.parse_token(access_rows.token_row(token_id)) == token_id

    @pytest.mark.parametrize("key", [b"k|x|a", b"k|g|x|a", b"k|g|u", b"t|a", b"k|g|u|%zz", b"k|t|a|b"])
    def test_other_keys_are_corrupt(self, table: Table, key: bytes) -> None:
        table.write([[Put(key, access_rows.TOKEN, b"{}")]])
        assert key[:2] != layout.ACCESS or Kind.UNREADABLE in {finding.kind for finding in findings(table)}
        for parse in (access_rows.parse_token, access_rows.parse_subject):
            with pytest.raises(CorruptRow):
                parse(key)


class TestTokens:
    def test_only_the_hash_is_stored(self, table: Table, access: AccessStore) -> None:
        stored, secret = access.create_token("nightly", [READ, RECORD], lifetime_ms=5_000)
        assert (stored.name, stored.grants, stored.expires_ms) == ("nightly", (READ, RECORD), NOW_MS + 5_000)
        assert access.token(stored.id) == stored
        text = str(rows(table))
        assert secret.secret not in text
        assert secret.digest() in text

    def test_it_is_valid_until_it_expires(self, access: AccessStore) -> None:
        stored, _ = access.create_token("a", [READ], lifetime_ms=10)
        assert [stored.is_valid(NOW_MS + ms) for ms in (0, 9, 10, 11)] == [True, True, False, False]
        assert access.create_token("b", [READ])[0].is_valid(2**62)

    def test_it_is_revoked_for_good(self, table: Table, access: AccessStore) -> None:
        stored, _ = access.create_token("a", [READ])
        assert access.revoke(stored.id).revoked_ms == NOW_MS
        later = AccessStore(table, clock=lambda: NOW_MS + 9)
        assert later.revoke(stored.id).revoked_ms == NOW_MS
        again = access.token(stored.id)
        assert again is not None
        assert not again.is_valid(NOW_MS)

    def test_all_are_listed(self, access: AccessStore) -> None:
        created = {access.create_token("same", [READ])[0] for _ in range(5)}
        assert set(access.tokens()) == created

    def test_an_unknown_one(self, access: AccessStore) -> None:
        assert access.token("0" * 16) is None
        with pytest.raises(NotFound, match="no token with the id 'x\\|y'"):
            access.revoke("x|y")

    @pytest.mark.parametrize("name", ["", "a\nb", "x" * 257, "\x1b[1m", "\ud800"])
    def test_names_are_printable(self, table: Table, access: AccessStore, name: str) -> None:
        with pytest.raises(InvalidQuery) as caught:
            access.create_token(name, [READ, Grant(Role.READER, name)])
        assert [error.path for error in caught.value.errors] == ["name", "namespace.1"]
        with pytest.raises(InvalidQuery):
            access.set_grants(Subject(SubjectKind.USER, name), [READ])
        assert rows(table) == {}

    @pytest.mark.parametrize("count", [0, GRANTS_MAX + 1])
    def test_it_has_grants(self, access: AccessStore, count: int) -> None:
        with pytest.raises(InvalidQuery, match="1 to 1,000"):
            access.create_token("a", [READ] * count)


class TestGrants:
    def test_they_add_up_and_are_removed(self, access: AccessStore) -> None:
        access.set_grants(ANA, [READ])
        access.set_grants(ANA, [RECORD, READ])
        access.set_grants(ETL, [RECORD])
        assert access.grants([ANA, ETL]) == {ANA: (READ, RECORD), ETL: (RECORD,)}
        assert access.remove_grants(ANA, [READ]) == (READ,)
        assert dict(access.all_grants()) == {ANA: (RECORD,), ETL: (RECORD,)}
        assert access.remove_grants(ETL) == (RECORD,)
        access.set_grants(ETL, [READ])
        assert access.grants([ETL, ANA, Subject(SubjectKind.USER, "other")]) == {ETL: (READ,), ANA: (RECORD,)}

    def test_a_user_is_no_group(self, access: AccessStore) -> None:
        access.set_grants(Subject(SubjectKind.GROUP, ANA.name), [READ])
        assert access.grants([ANA]) == {}

    def test_what_is_not_there_cannot_be_removed(self, access: AccessStore) -> None:
        access.set_grants(ANA, [READ])
        with pytest.raises(NotFound, match=r"does not have recorder on ns\|1 %"):
            access.remove_grants(ANA, [READ, RECORD])
        with pytest.raises(NotFound, match="any grant"):
            access.remove_grants(ETL)
        assert access.grants([ANA]) == {ANA: (READ,)}


class TestMaintenance:
    """Rows of access beside runs."""

    @pytest.fixture(autouse=True)
    def granted(self, table: Table, access: AccessStore) -> None:
        LineageStore(table).record([copying("one", start_ms=5)])
        stored, _ = access.create_token("a", [READ, RECORD], lifetime_ms=1)
        access.revoke(stored.id)
        access.create_token("b", [READ])
        access.set_grants(ANA, [READ, RECORD])
        access.remove_grants(ANA, [READ])

    def test_the_audit_finds_nothing(self, table: Table) -> None:
        assert not wrong(findings(table))
        expected = rows(table)
        repaired(table)
        assert rows(table) == expected

    @pytest.mark.parametrize(
        "value", [b"", b"{}", b"\xff", b'{"at":1,"name":"a","sha256":"0","grants":[["x","y"]]}']
    )
    def test_the_audit_finds_damage(self, table: Table, access: AccessStore, value: bytes) -> None:
        key = next(iter(rows(table).keys() - {access_rows.grants_row(ANA)}))
        table.write([[Put(key, access_rows.TOKEN, value)]])
        (finding,) = [finding for finding in findings(table) if finding.kind is Kind.UNREADABLE]
        assert finding.row == key
        with pytest.raises(CorruptRow, match=r"k\|t\|"):
            access.token(access_rows.parse_token(key))
        # One damaged token does not end the list of the others.
        assert len(list(access.tokens())) == 1

    def test_a_grant_of_an_unknown_role_is_no_grant(self, table: Table, access: AccessStore) -> None:
        table.write([[Put(access_rows.grants_row(ANA), access_rows.GRANT + b"owner|*", b'{"at":1}')]])
        with pytest.raises(CorruptRow, match="role"):
            access.grants([ANA])

    @pytest.mark.parametrize("column", [b"d:future", b"o:future"])
    def test_columns_of_newer_releases_change_nothing(
        self, table: Table, access: AccessStore, column: bytes
    ) -> None:
        expected = list(access.tokens()), list(access.all_grants())
        table.write([[Put(key, column, b"any") for key in rows(table)]])
        assert (list(access.tokens()), list(access.all_grants())) == expected
        assert not wrong(findings(table))

    def test_retention_leaves_them(self, table: Table) -> None:
        expected, policy, later_ms = rows(table), RetentionPolicy(2**50), 2**52
        garbage_collection.purge(table, policy, until_ms=later_ms, grace_ms=0)
        garbage = garbage_collection.find_garbage(table, policy, until_ms=later_ms)
        garbage_collection.remove(table, garbage, policy, until_ms=later_ms)
        assert rows(table) == expected
        assert not [key for key, _ in table.scan(layout.RUNS, b"r}")]
