"""Sample of a bank: the use of `UID`, personal data, of DailyTransactions.

It is copied, renamed, hashed, counted and dropped, and sent to another namespace.
"""

from __future__ import annotations

from fll_hbase.model.runs import State
from fll_hbase.runtime.json_types import Json
from fll_hbase.sample.program import Program, daily, dataset, hourly, read, releases, transform, write

BANK = "bank"
MARKETING = "marketing"

TRANSACTIONS = dataset(BANK, "DailyTransactions", "card and account transactions; UID is personal data")
ACCOUNTS = dataset(BANK, "CustomerAccounts", "one row per customer and account")
FEATURES = dataset(BANK, "FraudFeatures", "what the fraud models see, by hashed customer")
SCORES = dataset(BANK, "RiskScores", "one score per customer and day")


def _load_transactions(added: str) -> list[Json]:
    """Return the load of the transactions; `added` are further columns, ` name:type` each."""
    parsed = f"UID:string account:string amount:decimal currency:string merchant_id:string{added}"
    # Derived from `parsed`, so that a second release adds its column to the WRITE as well.
    fields = " ".join(f"parse.{field.split(':')[0]}" for field in parsed.split())
    landing = dataset(BANK, "s3://landing/transactions", "files of the card processor")
    return [
        read("read_files", "reading the files of the hour", landing, "offset:long body:string"),
        transform(
            "parse",
            "splitting each line at its commas",
            "read_files.body",
            f"{parsed} booked_at:timestamp",
        ),
        # A dropped and a generated field: the two relations that have only one dataset.
        transform("drop_offset", "dropping the offset in the file", "read_files.offset", ""),
        transform("stamp", "generating an id for this load", "", "ingestion_id:string"),
        write(
            "append",
            "appending to the table",
            TRANSACTIONS,
            f"{fields} parse.booked_at stamp.ingestion_id",
        ),
    ]


def _build_accounts(phone: str) -> list[Json]:
    """Return the build of the accounts; `phone` is a new `name:type` of the phone number, "" for none."""
    customers = dataset(BANK, "Customers", "master data")
    renamed = [transform("rename_phone", "rename: as in the contract", "read_customers.phone", phone)]
    # The second release renames the column: a query of the ninety days returns both names.
    phone_input = "rename_phone.phone_number" if phone else "read_customers.phone"
    return [
        read(
            "read_month",
            "the transactions of 30 days",
            TRANSACTIONS,
            "UID:string account:string amount:decimal booked_at:timestamp",
        ),
        read(
            "read_customers",
            "all customers",
            customers,
            "UID:string name:string phone:string segment:string status:string",
        ),
        transform(
            "turnover",
            "summing amounts by customer over 30 days",
            "read_month.amount",
            "turnover_30d:decimal",
            group_by="read_month.UID",
            window="read_month.booked_at",
        ),
        *(renamed if phone else []),
        write(
            "store_accounts",
            "joined on UID, active customers only",
            ACCOUNTS,
            "read_month.UID read_month.account read_customers.name read_customers.segment "
            f"turnover.turnover_30d {phone_input}",
            join="read_month.UID read_customers.UID",
            filter="read_customers.status",
        ),
    ]


_FRAUD_FEATURES = [
    read(
        "read_hour",
        "the transactions of the hour",
        TRANSACTIONS,
        "UID:string amount:decimal currency:string merchant_id:string booked_at:timestamp",
    ),
    read(
        "read_merchants",
        "all merchants",
        dataset(BANK, "Merchants"),
        "merchant_id:string category:string country:string",
    ),
    read("read_rates", "rates of the day", dataset(BANK, "ExchangeRates"), "currency:string rate:decimal"),
    transform("hash_uid", "sha256 of UID with the salt of the year", "read_hour.UID", "uid_hash:string"),
    transform(
        "convert",
        "amount in euros",
        "read_hour.amount read_rates.rate",
        "amount_eur:decimal",
        join="read_hour.currency read_rates.currency",
    ),
    transform(
        "velocity",
        "euros spent per customer and hour",
        "convert.amount_eur",
        "eur_per_hour:decimal",
        # UID as an indirect input: the sums depend on it, but do not contain it.
        group_by="read_hour.UID",
        window="read_hour.booked_at",
    ),
    write(
        "store_features",
        "joined on the merchant, amounts above zero",
        FEATURES,
        "hash_uid.uid_hash convert.amount_eur velocity.eur_per_hour "
        "read_merchants.category read_merchants.country",
        join="read_hour.merchant_id read_merchants.merchant_id",
        filter="read_hour.amount",
    ),
]

_RISK_SCORES = [
    read(
        "read_features",
        "the features of the day",
        FEATURES,
        "uid_hash:string eur_per_hour:decimal country:string",
    ),
    read("read_accounts", "all accounts", ACCOUNTS, "UID:string segment:string turnover_30d:decimal"),
    # The same hash as in FraudFeatures, as the join of both requires.
    transform(
        "hash_uid", "sha256 of UID with the salt of the year", "read_accounts.UID", "customer_key:string"
    ),
    transform(
        "score",
        "logistic model over spending and turnover",
        "read_features.eur_per_hour read_accounts.turnover_30d",
        "risk_score:double",
        conditional="read_features.country",
    ),
    transform("band", "low, medium or high", "score.risk_score", "risk_band:string"),
    write(
        "store_scores",
        "joined on the hashed customer",
        SCORES,
        "hash_uid.customer_key score.risk_score band.risk_band read_accounts.segment",
        join="read_features.uid_hash hash_uid.customer_key",
    ),
]

_REGULATORY_REPORT = [
    read(
        "read_scores", "the scores of the day", SCORES, "customer_key:string segment:string risk_band:string"
    ),
    read("read_accounts", "all accounts", ACCOUNTS, "UID:string segment:string turnover_30d:decimal"),
    # For a compliance report: UID is read, but does not reach the regulator.
    transform("drop_uid", "personal data must not reach the regulator", "read_accounts.UID", ""),
    transform(
        "count",
        "customers by segment and band",
        "read_scores.customer_key",
        "customers:long",
        group_by="read_scores.segment read_scores.risk_band",
    ),
    transform(
        "exposure",
        "turnover by segment",
        "read_accounts.turnover_30d",
        "exposure:decimal",
        group_by="read_accounts.segment",
    ),
    write(
        "store_report",
        "one row per segment and band",
        dataset(BANK, "RegulatoryReport", "sent to the regulator each month"),
        "read_scores.segment read_scores.risk_band count.customers exposure.exposure",
    ),
]

_STATEMENTS = [
    read(
        "read_day",
        "the transactions of the day",
        TRANSACTIONS,
        "UID:string account:string amount:decimal booked_at:timestamp",
    ),
    transform("rename_uid", "rename: the name that customers know", "read_day.UID", "customer_no:string"),
    write(
        "store_statements",
        "sorted by time",
        dataset(BANK, "Statements"),
        "rename_uid.customer_no read_day.account read_day.amount read_day.booked_at",
        sort="read_day.booked_at",
    ),
]

_AUDIENCE = [
    read("read_accounts", "all accounts", ACCOUNTS, "UID:string segment:string turnover_30d:decimal"),
    transform(
        "rename_uid", "rename: the name that campaigns know", "read_accounts.UID", "customer_id:string"
    ),
    write(
        "store_audience",
        "customers worth a letter",
        # Another namespace: lineage over several hops crosses namespaces.
        dataset(MARKETING, "CampaignAudience"),
        "rename_uid.customer_id read_accounts.segment",
        filter="read_accounts.turnover_30d",
    ),
]

# Always aborted: in answers only with failed runs, as docs/ask/tour.md shows.
_EXPORT = [
    read("read_all", "all transactions", TRANSACTIONS, "UID:string account:string"),
    write(
        "upload",
        "refused by the vendor's server each time",
        dataset(BANK, "sftp://vendor/export"),
        "read_all.UID read_all.account",
    ),
]

PROGRAMS = (
    Program(
        BANK,
        "CoreBanking",
        "load_transactions",
        "spark",
        *hourly(5),
        releases=releases(_load_transactions(""), second=_load_transactions(" channel:string")),
    ),
    Program(
        BANK,
        "Customer360",
        "build_accounts",
        "spark",
        *daily(1, 10),
        releases=releases(_build_accounts(""), second=_build_accounts("phone_number:string")),
    ),
    Program(BANK, "FraudWatch", "features", "spark", *hourly(25), releases=releases(_FRAUD_FEATURES)),
    Program(BANK, "RiskEngine", "score", "spark", *daily(2, 30), releases=releases(_RISK_SCORES)),
    Program(BANK, "Compliance", "report", "spark", *daily(4, 0), releases=releases(_REGULATORY_REPORT)),
    Program(BANK, "Statements", "print", "mapreduce", *daily(5, 0), releases=releases(_STATEMENTS)),
    Program(MARKETING, "Campaigns", "audience", "spark", *daily(6, 0), releases=releases(_AUDIENCE)),
    Program(
        BANK,
        "VendorExport",
        "upload",
        "workflow",
        *daily(22, 0),
        releases=releases(_EXPORT),
        state=State.ABORT,
    ),
)
