"""Bad arguments, options and variables of every command, and bad keys of every stage."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.case import BadInput, Damage, becomes

_STORY = '{"story": "1 A entered the x.", "question": "Where is the y?"}\n'
_IN = {"in.jsonl": becomes(_STORY)}
_PUBLISHED: dict[str, Damage] = {
    "params/shared.json": lambda content: content.replace(
        b'"acquire": {', b'"acquire": {"hi_tom": {"kind": "upstream"}, '
    )
}

# (command, words of the message)
_TYPED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("Usage",)),
    ("fly", ("No such command", "fly")),
    ("--fly", ("No such option", "--fly")),
    ("report mini", ("unexpected extra argument", "mini")),
    ("run maxi", ("'maxi'", "mini")),
    ("run ''", ("''", "mini")),
    ("run ../mini", ("'../mini'", "mini")),
    ("run --model models", ("--model", "tomrl run smol --model models")),
    ("run mini --model nowhere", ("--model nowhere", "no such folder", "config.json")),
    ("run mini --model params.yaml", ("--model params.yaml", "found a file", ".gguf")),
    ("run mini --model studies", ("--model studies", "no config.json")),
    ("run $'mi\\x1b[31mni'", ("'mi\\x1b[31mni'",)),
    ("run '[/bold]'", ("'[/bold]'",)),
    ("study", ("Usage",)),
    ("study use maxi", ("'maxi'", "mini")),
    ("study use ..", ("'..'", "mini")),
    ("study use MINI", ("'MINI'", "mini")),
    ("study use mini --model ''", ("--model .", "config.json")),
    ("export inspect nano-hi@bye --to out", ("nano-hi@bye", "no such checkpoint", "last (step")),
    ("export model nano-hi@bye --to out", ("nano-hi@bye", "no such checkpoint", "last (step")),
    ("export", ("Usage",)),
    ("export inspect", ("Missing option", "--to")),
    ("export inspect nano-bye --to out", ("'nano-bye'", "nano-hi")),
    ("export inspect maxi/nano-hi --to out", ("'maxi'", "mini")),
    ("export inspect ../nano-hi --to out", ("'..'", "mini")),
    ("export model nano-bye --to out", ("'nano-bye'", "nano-hi")),
    ("export model nano-hi --to studies", ("studies", "other files", "--to")),
    ("export model nano-hi --to out --push nano-hi", ("--push", "OWNER/NAME")),
    ("export data mini --to params.yaml", ("params.yaml", "not a folder")),
    ("publish mini", ("Missing option", "--to")),
    ("publish mini --to studies", ("studies", "other files", "--to")),
    ("publish mini --to s3://lab", ("s3://lab", "s3://BUCKET/PREFIX")),
    ("verify nothing", ("nothing", "tomrl publish")),
    ("verify params.yaml", ("params.yaml", "tomrl publish")),
    ("verify s3://lab", ("s3://lab", "s3://BUCKET/PREFIX")),
    ("export inspect nano-hi --to studies", ("studies", "other files", "--to")),
    ("export inspect nano-hi --to studies --force", ("studies", "other files", "--to")),
    ("export inspect nano-hi --to params.yaml", ("params.yaml", "not a folder")),
    ("export inspect --to params.yaml/out", ("params.yaml", "not a folder")),
    ("plan --study maxi", ("'maxi'", "mini")),
    ("plan --cluster gone.yaml", ("gone.yaml", "does not exist")),
    ("plan --cluster studies", ("studies",)),
    ("plan --cluster params.yaml", ("params.yaml", "pools")),
    ("plan --backend local", ("--backend", "--cell")),
    ("plan --cell nano-hi --effect 3", ("--cell", "--effect")),
    ("plan --cell nano-bye", ("'nano-bye'", "nano-hi")),
    ("plan --cell nano-base", ("nano-base", "trains nothing", "nano-hi")),
    ("plan --cell nano-hi --memory -1", ("--memory",)),
    ("plan --cell nano-hi --memory nan", ("--memory",)),
    ("plan --cell nano-hi --memory 0", ("nano-hi needs about",)),
    ("plan --cell nano-hi --study maxi", ("'maxi'", "mini")),
    ("plan --cell nano-hi --gpus 2", ("--gpus", "--backend verl")),
    ("plan --cell nano-hi --backend cloud", ("--backend", "cloud", "verl")),
    ("plan --cell nano-hi --backend verl --gpus 0", ("--gpus",)),
    ("plan --cell nano-hi --accelerator tpu", ("--accelerator", "tpu", "h100")),
    ("audit hi_tom_stile", ("'hi_tom_stile'", "hi_tom_style")),
    ("audit hi_tom_style --against nothing", ("'nothing'",)),
    ("audit hi_tom_style --raw nowhere", ("--raw nowhere", "no such folder")),
    ("audit hi_tom_style --raw in.jsonl", ("--raw in.jsonl", "no such folder")),
    ("audit hi_tom_style --json nowhere/audit.json", ("nowhere/audit.json",)),
    ("audit hi_tom_style --json .", (".",)),
    ("audit hi_tom", ("task hi_tom", "--raw")),
    ("ui --port 0", ("--port",)),
    ("ui --port 65536", ("--port",)),
    ("ui --host 256.1.1.1", ("256.1.1.1", "--host")),
    ("tom", ("Usage",)),
    ("tom solve in.jsonl -o out.jsonl", ("Missing option", "--benchmark")),
    ("tom solve in.jsonl -b hitom -o out.jsonl", ("hitom", "hi_tom")),
    ("tom solve in.jsonl -b hi_tom -o in.jsonl", ("in.jsonl", "input")),
    ("tom solve in.jsonl -b hi_tom -o nowhere/out.jsonl", ("nowhere/out.jsonl",)),
    ("tom solve in.jsonl -b hi_tom -o studies", ("studies",)),
    ("tom solve gone.jsonl -b hi_tom -o out.jsonl", ("gone.jsonl", "no such file")),
    ("tom solve studies -b hi_tom -o out.jsonl", ("studies", "cannot be read")),
    ("tom explain gone.txt -b hi_tom", ("gone.txt", "no such file")),
    ("tom explain studies -b hi_tom", ("studies", "cannot be read")),
    ("tom explain in.jsonl -b hi_tom --row 0", ("--row",)),
    ("tom explain in.jsonl -b hi_tom --row 7", ("no row 7", "--row")),
    ("tom check in.jsonl -b hi_tom", ("in.jsonl, line 1", "'answer'", "missing")),
    ("tom check in.jsonl -b hi_tom -d in.jsonl", ("in.jsonl", "input")),
    ("tom claims in.jsonl -o out.jsonl", ("in.jsonl, line 1", "'response'", "missing")),
    ("judge in.jsonl --match tags", ("in.jsonl", "story, question", "missing: answer")),
    ("judge --match tags gone.csv", ("gone.csv", "no such file")),
    ("judge --match tags studies", ("--match", "goes with a file")),
    ("judge --match tags params.yaml", ("params.yaml", "not read")),
    ("judge in.jsonl --match odd", ("--match", "odd", "tags")),
    ("judge in.jsonl --match tags -b nothing", ("'nothing'", "hi_tom")),
    ("judge in.jsonl", ("in.jsonl", "missing: answer")),
    ("judge nowhere", ("mini/nowhere", "nano-hi")),
    ("compare nano-bye nano-hi", ("mini/nano-bye", "nano-hi")),
    ("compare in.jsonl nano-hi", ("in.jsonl", "nano-hi")),
    ("models make nothing", ("'nothing'", "nano-0")),
    ("sweep --name ''", ("''", "a name has")),
    ("sweep --study maxi", ("'maxi'", "mini")),
    ("sweep --name ../x", ("'../x'", "a name has")),
    ("sweep status maxi", ("'maxi'", "none")),
    ("reward", ("Usage",)),
    ("reward score in.jsonl -p rlvr", ("Missing option", "--output")),
    ("reward score in.jsonl -p rlhf -o out.jsonl", ("rlhf", "rlvr")),
    ("reward score in.jsonl -p rlvr -o in.jsonl", ("in.jsonl", "input")),
    ("reward score gone.jsonl -p rlvr -o out.jsonl", ("gone.jsonl", "no such file")),
    ("reward score in.jsonl -p rlvr -o out.jsonl", ("in.jsonl, line 1", "'completion'", "missing")),
)

# (stage with its arguments, words of the message)
_STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *(
        (f"{stage} {key}", (stage, repr(key), there))
        for stage, there in (
            ("acquire", "arithmetic"),
            ("dataset", "hi"),
            ("base", "nano"),
            ("train", "nano-hi"),
            ("evaluate", "nano-hi"),
            ("judge", "nano-hi"),
        )
        for key in ("nothing", "../x")
    ),
    *(
        (stage, ("none", f"python -m pipeline.stages.{stage} KEY"))
        for stage in ("acquire", "dataset", "base", "train", "evaluate", "judge")
    ),
    *(
        (f"{stage} now", (stage.split()[0], "'now'"))
        for stage in (
            "code",
            "sources",
            "suite",
            "audit",
            "report",
            "evaluate nano-hi",
            "base nano",
        )
    ),
    ("train nano-hi --fly", ("--fly",)),
    ("train nano-hi now", ("now",)),
    ("train nano-hi --resume", ("--resume",)),
    ("train nano-hi --resume nowhere", ("--resume nowhere", "made_from.json")),
    ("train nano-hi --resume studies", ("--resume studies", "made_from.json")),
)

# (command, variables, words of the message)
VARIABLES: tuple[tuple[str, dict[str, str], tuple[str, ...]], ...] = (
    ("acquire hi_tom", {"TOMRL_DATA_MIRROR": "/nowhere"}, ("hi_tom", "/nowhere")),
    ("acquire hi_tom", {"TOMRL_DATA_MIRROR": "params.yaml"}, ("hi_tom", "params.yaml")),
    ("acquire hi_tom", {"TOMRL_DATA_MIRROR": "@"}, ("hi_tom", "@")),
    ("tomrl audit hi_tom", {"TOMRL_DATA_MIRROR": "/nowhere"}, ("hi_tom", "/nowhere")),
    ("tomrl audit hi_tom", {"TOMRL_DATA_MIRROR": "@"}, ("hi_tom", "TOMRL_DATA_MIRROR")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}, ("http://127.0.0.1:9", "MLFLOW_TRACKING_URI")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": "carrier-pigeon://roof"}, ("carrier-pigeon", "MLFLOW_TRACKING_URI")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/x.db"}, ("/dev/null/x.db", "MLFLOW_TRACKING_URI")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": "sqlite:///params.yaml"}, ("params.yaml", "database")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": "http://["}, ("http://[", "MLFLOW_TRACKING_URI")),
    ("tomrl deploy", {"HOME": "/dev/null", "PREFECT_HOME": ""}, ("HOME is /dev/null", "PREFECT_HOME")),
    ("tomrl deploy", {"PREFECT_HOME": "/proc/x"}, ("/proc/x", "PREFECT_HOME")),
    ("tomrl deploy", {"PREFECT_API_URL": "http://127.0.0.1:9/api"}, ("http://127.0.0.1:9/api", "PREFECT_API_URL")),
    ("tomrl deploy", {"PREFECT_API_URL": "nowhere"}, ("nowhere", "PREFECT_API_URL")),
    ("tomrl deploy", {"PREFECT_LOGGING_LEVEL": "loud"}, ("PREFECT_LOGGING_LEVEL: ", "found 'LOUD'", "'WARNING'")),
    ("tomrl deploy", {"PREFECT_CLIENT_MAX_RETRIES": "many"}, ("PREFECT_CLIENT_MAX_RETRIES: ", "found 'many'", "valid integer")),
    ("tomrl deploy", {"PREFECT_PROFILES_PATH": "dvc.yaml"}, ("fix dvc.yaml",)),
    ("tomrl deploy", {"PREFECT_LOGGING_CONFIG_PATH": "README.md"}, ("PREFECT_LOGGING_CONFIG_PATH", "README.md")),
    ("tomrl sync", {"MLFLOW_SQLALCHEMYSTORE_POOL_SIZE": "x"}, ("MLFLOW_SQLALCHEMYSTORE_POOL_SIZE", "'x'")),
    ("tomrl run", {"DVC_SITE_CACHE_DIR": "/dev/null/x"}, ("DVC_SITE_CACHE_DIR", "/dev/null/x")),
    ("tomrl run", {"DVC_GLOBAL_CONFIG_DIR": "/dev/null"}, ("DVC_GLOBAL_CONFIG_DIR", "/dev/null/config")),
    ("tomrl audit hi_tom", {"TOMRL_DATA_MIRROR": ""}, ("hi_tom", "TOMRL_DATA_MIRROR")),
    ("tomrl sync", {"MLFLOW_TRACKING_URI": " "}, ("MLFLOW_TRACKING_URI",)),
    ("tomrl ui", {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}, ("http://127.0.0.1:9", "MLFLOW_TRACKING_URI")),
)  # fmt: skip


def commands() -> Iterator[BadInput]:
    """Yield what is typed."""
    for line, says in _TYPED:
        yield BadInput(f"tomrl {line}", ("tomrl", *_words(line)), says, _IN)
    for line, says in _STAGES:
        yield BadInput(f"stage {line}", _words(line), says)
    for line, variables, says in VARIABLES:
        said = ", ".join(f"{name}={value}" for name, value in variables.items())
        files = _PUBLISHED if "hi_tom" in line and line.startswith("acquire") else {}
        yield BadInput(f"{said}: {line}", _words(line), says, files, variables)


def _words(line: str) -> tuple[str, ...]:
    """Split a command as a shell does, as far as it is needed here."""
    plain = line.replace("$'mi\\x1b[31mni'", "mi\x1b[31mni")
    return tuple(word.strip("'") for word in plain.split(" ") if word)
