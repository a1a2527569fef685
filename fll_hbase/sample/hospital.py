"""Sample of a hospital: provenance of `patient_medical_score` of PatientRecords."""

from __future__ import annotations

from fll_hbase.runtime.json_types import Json
from fll_hbase.sample.program import Program, daily, dataset, hourly, read, releases, transform, write

HOSPITAL = "hospital"

VITALS = dataset(HOSPITAL, "Vitals", "measurements of the monitors")
SUMMARY = dataset(HOSPITAL, "VitalsSummary", "one row per patient and day")
LABS = dataset(HOSPITAL, "LabResults")
ADMISSIONS = dataset(HOSPITAL, "Admissions")
RECORDS = dataset(HOSPITAL, "PatientRecords", "one row per patient, for clinicians and models")

_VITALS = [
    read("listen", "messages of the monitors", dataset(HOSPITAL, "hl7://monitors"), "message:string"),
    transform(
        "parse",
        "segments of an HL7 message",
        "listen.message",
        "patient_id:string heart_rate:int systolic:int spo2:int measured_at:timestamp",
    ),
    write(
        "append",
        "plausible values only",
        VITALS,
        "parse.patient_id parse.heart_rate parse.systolic parse.spo2 parse.measured_at",
        filter="parse.spo2",
    ),
]

_SUMMARY = [
    read(
        "read_vitals",
        "the measurements of 24 hours",
        VITALS,
        "patient_id:string heart_rate:int systolic:int spo2:int measured_at:timestamp",
    ),
    transform(
        "cardio",
        "worst of heart rate, pressure and oxygen in 24 hours",
        "read_vitals.heart_rate read_vitals.systolic read_vitals.spo2",
        "cardio_index:double",
        group_by="read_vitals.patient_id",
        window="read_vitals.measured_at",
    ),
    write("store_summary", "one row per patient", SUMMARY, "read_vitals.patient_id cardio.cardio_index"),
]


def _labs(added: str) -> list[Json]:
    """Return the load of the laboratory results; `added` are further columns, ` name:type` each."""
    # The second release adds `crp`, which the second release of `_records` reads.
    columns = f"patient_id:string hba1c:double creatinine:double{added}"
    inputs = " ".join(f"parse.{field.split(':')[0]}" for field in columns.split())
    files = dataset(HOSPITAL, "files/lab-results.csv", "nightly file of the laboratory")
    return [
        read("read_file", "reading the file of the night", files, "body:string"),
        transform("parse", "columns of the file", "read_file.body", columns),
        write("store_results", "replacing the day", LABS, inputs),
    ]


_ADMISSIONS = [
    read(
        "read_feed",
        "changes since yesterday",
        dataset(HOSPITAL, "AdmissionsFeed"),
        "patient:string ward:string admitted_at:timestamp discharged_at:timestamp",
    ),
    # A renamed key: the feed has another name for it than all other datasets.
    transform("rename_patient", "one name for patients", "read_feed.patient", "patient_id:string"),
    write(
        "store_stays",
        "latest change of each patient",
        ADMISSIONS,
        "rename_patient.patient_id read_feed.ward read_feed.admitted_at read_feed.discharged_at",
    ),
]


def _record_sources(*, inflammation: bool) -> list[Json]:
    """Return the READs of the records, also of the column `crp` if `inflammation`."""
    crp = " crp:double" if inflammation else ""
    return [
        read(
            "read_labs", "the latest results", LABS, f"patient_id:string hba1c:double creatinine:double{crp}"
        ),
        read(
            "read_stays",
            "all stays",
            ADMISSIONS,
            "patient_id:string ward:string admitted_at:timestamp discharged_at:timestamp",
        ),
        read("read_summary", "the latest summaries", SUMMARY, "patient_id:string cardio_index:double"),
        read(
            "read_patients",
            "master data",
            dataset(HOSPITAL, "Patients"),
            "patient_id:string name:string birth_date:date",
        ),
    ]


def _records(*, inflammation: bool) -> list[Json]:
    """Return the build of the patient records, with an index of inflammation in the score if given."""
    index = transform(
        "inflammation", "C-reactive protein, scaled", "read_labs.crp", "inflammation_index:double"
    )
    # Three feeds lead to the score, over several hops.
    inputs = "kidney.kidney_index stay.stay_days read_summary.cardio_index"
    return [
        *_record_sources(inflammation=inflammation),
        transform("drop_name", "scores are kept without names", "read_patients.name", ""),
        transform("age", "years since birth", "read_patients.birth_date", "age:int"),
        transform(
            "kidney",
            "creatinine and HbA1c, scaled",
            "read_labs.creatinine read_labs.hba1c",
            "kidney_index:double",
        ),
        *([index] if inflammation else []),
        transform(
            "stay", "days in hospital", "read_stays.admitted_at read_stays.discharged_at", "stay_days:int"
        ),
        transform(
            "score",
            "weighted sum of the indices",
            f"{inputs} inflammation.inflammation_index" if inflammation else inputs,
            "patient_medical_score:double",
            # Indirect: weights differ by age, the age itself is not part of the score.
            conditional="age.age",
        ),
        transform("sign", "version of the model", "", "model_version:string"),
        write(
            "store_records",
            "joined on the patient, intensive care left out",
            RECORDS,
            "read_patients.patient_id age.age score.patient_medical_score sign.model_version",
            join="read_labs.patient_id read_stays.patient_id read_summary.patient_id",
            filter="read_stays.ward",
        ),
    ]


PROGRAMS = (
    Program(HOSPITAL, "Monitoring", "vitals", "spark", *hourly(45), releases=releases(_VITALS)),
    Program(
        HOSPITAL,
        "Laboratory",
        "load_results",
        "spark",
        *daily(3, 30),
        releases=releases(_labs(""), second=_labs(" crp:double")),
    ),
    Program(HOSPITAL, "Admissions", "load", "spark", *daily(3, 45), releases=releases(_ADMISSIONS)),
    Program(HOSPITAL, "Monitoring", "summarise", "spark", *daily(4, 10), releases=releases(_SUMMARY)),
    Program(
        HOSPITAL,
        "Scoring",
        "score_patients",
        "spark",
        *daily(4, 45),
        releases=releases(_records(inflammation=False), second=_records(inflammation=True)),
    ),
)
