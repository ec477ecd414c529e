"""Codes about the gcloud command line. Pure."""

from shared.lint.code import Code
from shared.lint.sources import GCLOUD, sources, thread

COMMAND_CODES: tuple[Code, ...] = (
    Code(
        name="gcloud-unknown-flag",
        severity="error",
        title="gcloud has no such flag",
        when="The command has a flag that neither `gcloud run deploy` nor `gcloud run services update` has, in the release, beta or "
        "alpha track: `--max-concurrency`, `--max-retries`, `--gpu-count`, `--gpu-runtime`, `--accelerator` and others that guides "
        "invent.",
        not_when="Flags of the beta and alpha tracks, and gcloud's own flags such as `--project` and `--quiet`.",
        why="gcloud refuses the whole command and nothing is deployed: `unrecognized arguments: --max-concurrency (did you mean "
        "'--concurrency'?)`. `--max-retries` exists for Cloud Run jobs only; a service never retries requests, its callers do.",
        fix="Write the flag that exists: `--concurrency`, `--gpu`, `--gpu-type`; leave out what no flag says.",
        example="gcloud run deploy ranker --image=tensorflow/serving:2.20.0-gpu \\\n  --gpu=1 --gpu-type=nvidia-l4 --concurrency=64",
        authority=GCLOUD,
    ),
    Code(
        name="gcloud-value-invalid",
        severity="error",
        title="gcloud refuses the value of a flag, its place, or the command itself",
        when="A flag that exists has no value, or one that gcloud's own parser refuses: text where a number is due, a word that is not "
        "one of its choices, a part of a list that is not `key=value`. Also a command that gcloud does not have (`gcloud run create`, "
        "`gcloud run service update`), a flag where gcloud does not take it (in front of the command's name, of the service behind "
        "`--container`), a flag given twice, two flags that exclude each other, and a word too many.",
        not_when="Values that gcloud accepts and Cloud Run refuses later; they have codes of their own.",
        why="gcloud stops before it sends anything: `expected one argument`, `Bad value`, `Bad syntax for dict arg` or `Invalid choice`.",
        fix="Write the command and its flags as gcloud has them, each flag with a value of the form that it asks for. Whole numbers have "
        "no unit; times may have one (`--timeout=300s`).",
        example="gcloud run services update ranker \\\n  --concurrency=64 --timeout=300s --set-env-vars=MODEL_NAME=ranker",
        authority=GCLOUD,
    ),
    Code(
        name="gcloud-flag-other-track",
        severity="info",
        title="The flag is in another release track of gcloud",
        when="A flag that gcloud 528 has for `gcloud beta run` or `gcloud alpha run` only stands in a command without that word, such as "
        "`--max`, `--scaling` and `--iap`.",
        not_when="The same flag behind `gcloud beta run`, and flags that no track has: those are unknown.",
        why="gcloud 528 refuses the command and names the track that has the flag. Newer releases of gcloud move flags into the release "
        "track, so the same command may pass elsewhere.",
        fix="Write `gcloud beta run deploy`, or use the flag of the release track: `--max-instances` instead of `--max`.",
        example="gcloud beta run deploy ranker --image=tensorflow/serving:2.20.0-gpu --max=3",
        authority=GCLOUD,
    ),
    Code(
        name="gcloud-args-needs-equals",
        severity="error",
        title="--args needs an equals sign before a value that starts with a dash",
        when="`--args` or `--command` is followed by a space and a value that starts with `-`.",
        not_when="`--args=--port=8500`, and a value after a space that does not start with a dash.",
        why="gcloud takes the value for a flag of its own: `argument --args: expected one argument`.",
        fix="Join flag and value with an equals sign; the container's arguments follow each other with commas.",
        example="gcloud run deploy ranker --image=tensorflow/serving:2.20.0-gpu \\\n  --args=--port=8500,--rest_api_port=8501",
        authority=sources(
            GCLOUD, thread("google-github-actions/deploy-cloudrun", 444), thread("google-github-actions/deploy-cloudrun", 514)
        ),
    ),
    Code(
        name="gcloud-args-comma-split",
        severity="error",
        title="gcloud splits --args at its commas, and a part is no flag",
        when="After gcloud has split the server's `--args` at its commas (or at the delimiter of a leading `^;^`), a part behind a flag "
        "does not start with `--`: the rest of a value with commas in it, or a value that a comma parts from its flag.",
        not_when="A value with commas under a delimiter of its own, as in the example; the arguments of another program.",
        why="The server gets the part as an argument of its own. It prints `unknown argument` and goes on with half a value, or with none.",
        fix="Join flag and value with `=`. Where a value has commas, choose a delimiter that no value contains, and quote the whole: to a "
        "shell `;` would end the command.",
        example="gcloud run services update ranker \\\n  --args='^;^--port=8500;--saved_model_tags=serve,gpu'",
        authority=sources(f"{GCLOUD} (`gcloud topic escaping`)", thread("google-github-actions/deploy-cloudrun", 541)),
    ),
    Code(
        name="spec-invalid",
        severity="error",
        title="The spec is refused",
        when="A spec of Trimtab that its own schema refuses (a field that does not exist, a value of the wrong form or out of range), or "
        "that is not admitted because Cloud Run or TensorFlow Serving would refuse what it becomes.",
        not_when="A spec that names images or buckets which only an installation's allow-lists refuse: those are not known here.",
        why="`apply` answers with the same words and nothing is changed.",
        fix="Set the field to a value of the kind that the finding names.",
        example="service: acme-ml:europe-west1:ranker\nspec:\n  autonomy: observe\n  scale: {max_instance_count: 3}",
        authority="Trimtab, the schema of a spec",
    ),
)
