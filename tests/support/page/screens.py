"""Every screen of the page on the sample: its deep link, and the names that stand on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.support.page.site import Site, path

UID = {"ns": "bank", "name": "DailyTransactions", "field": "UID"}
SCORE = {"ns": "hospital", "name": "PatientRecords", "field": "patient_medical_score"}
SEED = {"ns": "myns", "name": "mytableds", "field": "id"}
PHONE = {"ns": "bank", "name": "CustomerAccounts", "field": "phone_number"}
LATE, EARLY = {"start": "now-20d", "end": "now"}, "now-90d,now-70d"
"""Two windows of the sample: the bank renamed `phone` to `phone_number` between them."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A deep link and the texts that the screen must have; `heading` is among them."""

    state: dict[str, Any]
    heading: str
    texts: tuple[str, ...] = field(default=())


SCREENS = {
    "home": Screen(
        {}, "What is new", ("Datasets", "Failed", "Flow policies", "bank", "hospital", "myns", "marketing")
    ),
    "dataset": Screen(
        {"view": "dataset", "ns": "bank", "name": "DailyTransactions"},
        "DailyTransactions",
        ("UID", "s3://landing/transactions", "CustomerAccounts", "FraudFeatures", "Statements"),
    ),
    "graph": Screen(
        {"view": "graph", **UID, "direction": "forward", "level": 5},
        "UID",
        ("DailyTransactions", "CustomerAccounts", "RiskScores", "RegulatoryReport", "customer_key"),
    ),
    "graph-table": Screen(
        {"view": "graph", **UID, "direction": "forward", "level": 5, "as": "table"},
        "UID",
        ("DailyTransactions", "CampaignAudience", "customer_id", "turnover_30d"),
    ),
    "operations": Screen(
        {"view": "operations", **SEED},
        "id",
        ("mytableds", "user_data", "body", "parse", "concat", "create", "creating unique id"),
    ),
    "operations-simple": Screen(
        {"view": "operations", **SEED, "operations": "simple"}, "id", ("user_data", "body", "parse")
    ),
    "operations-ways": Screen(
        {"view": "operations", **SEED, "operations": "ways"}, "id", ("mytableds", "1 stretch", "runs in all")
    ),
    "operations-diff": Screen(
        {"view": "operations", **PHONE, **LATE, "base": EARLY, "operations": "diff"},
        "phone_number",
        ("CustomerAccounts", "rename_phone", "gained", "content"),
    ),
    "compare": Screen(
        {"view": "compare", "ns": "bank", "name": "CustomerAccounts", **LATE, "base": EARLY},
        "CustomerAccounts",
        ("phone_number", "gained", "lost"),
    ),
    "compare-fields": Screen(
        {
            "view": "compare",
            "ns": "bank",
            "name": "CustomerAccounts",
            "tab": "fields",
            **LATE,
            "base": EARLY,
        },
        "CustomerAccounts",
        ("phone_number", "rename_phone", "gained", "lost", "way", "content"),
    ),
    "consumption": Screen(
        {"view": "report", **UID, "report": "consumption"},
        "UID",
        ("DailyTransactions", "FraudWatch", "RiskScores", "customer_key"),
    ),
    "provenance": Screen(
        {"view": "report", **SCORE, "report": "provenance"}, "patient_medical_score", ("PatientRecords",)
    ),
    "retention": Screen({"view": "report", "report": "retention"}, "Reports", ("Retention",)),
    "impact": Screen(
        {"view": "impact", **UID},
        "UID",
        ("DailyTransactions", "CampaignAudience", "customer_key", "FraudWatch", "indirect"),
    ),
    "tags": Screen({"view": "tags", **UID}, "UID", ("DailyTransactions",)),
}
"""All but `run`, whose id differs each time that the sample is loaded: see `run_screen`."""


def run_screen(site: Site) -> Screen:
    """The screen of the newest complete run that wrote `mytableds`."""
    (run, *_) = site.get(f"{path(ns='myns', name='mytableds')}/runs", limit=1)["runs"]
    return Screen({"view": "run", "run": run["run"]}, run["run"], ("ETLMapReduce", "user_data", "mytableds"))


def screen_of(name: str, site: Site) -> Screen:
    """A screen by its name, `run` included."""
    return run_screen(site) if name == "run" else SCREENS[name]


NAMES = [*SCREENS, "run"]
