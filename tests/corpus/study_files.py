"""Bad study files: one edit of a good one each, and the words that must stand in the message."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.case import BINARY, BadInput, becomes

GOOD = """\
name: bad
title: A study
seed: 0
threads: 1
acquire:
  hi_tom_style:
    kind: hi_tom_style
    agents: 3
    chapters: [1, 2]
    telling: brief
    noise: 0.1
    train: 30
    validation: 5
    test: 5
  arithmetic:
    kind: arithmetic
    test: 5
dataset:
  split: by-story
  prompt: compact
  combinations:
    hi:
      train:
        - {task: hi_tom_style_train, orders: [0, 1], limit: 20}
      validation:
        - {task: hi_tom_style_validation, where: {is_interesting: true}}
suite:
  tasks:
    order_1: {task: hi_tom_style, orders: [1], trained: [hi]}
    order_3: {task: hi_tom_style, orders: [3]}
  side_checks:
    arithmetic: {task: arithmetic, prompt: compact, max_new_tokens: 8}
audit:
  ngram: 13
base:
  models:
    nano:
      kind: tiny
      title: nano
      size: nano
      warm_start:
        steps: 6
        batch: 8
        learning_rate: 0.003
        stories: 200
        arithmetic_share: 0.1
        vocabulary: 768
        context: 256
train:
  backend: local
  cluster: {nodes: 1, retries: 2}
  algorithms:
    ppo: {discount: 1.0}
  reward: rlvr
  prompts_per_step: 2
  rollouts: 4
  steps: 4
  learning_rate: 1e-6
  clip_range: 0.2
  kl_coefficient: 0.001
  kl_in_reward: false
  temperature: 1.0
  max_prompt_tokens: 200
  max_new_tokens: 8
  validate_every: 2
  save_every: 1
evaluate:
  engine: hf
  prompt: compact
  temperature: 0
  top_p: 1.0
  max_new_tokens: 8
  batch: 200
grid:
  models: [nano]
  combinations: [hi]
  algorithms: [grpo, ppo]
  seeds: [0, 1]
"""


def _at(section: str) -> str:
    """The line at which a section of the good study begins."""
    assert GOOD.count(f"\n{section}") == 1
    return f"line {GOOD[: GOOD.index(f'{chr(10)}{section}')].count(chr(10)) + 2}"


FILE = "studies/bad.yaml"
USE = ("tomrl", "study", "use", "bad")

# (what stands in the good file, what takes its place, words of the message beside the line)
EDITS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # names and texts
    ("name: bad", "name: worse", ("name: found 'worse'", "'bad'")),
    ("name: bad", "name: Bad", ("name: found 'Bad'",)),
    ("name: bad", "name: ''", ("name: found ''",)),
    ("name: bad", "name: ../bad", ("name: found '../bad'",)),
    ("name: bad", "name: null", ("name: found null",)),
    ("name: bad\n", "", ("name: found nothing",)),
    ("title: A study", "title: 5", ("title: found 5",)),
    ("title: A study", "title: ''", ("title: found ''",)),
    ("title: A study", "title: '   '", ("title: found '   '",)),
    ("title: A study", 'title: "\\uD800"', ("title", "surrogate")),
    ("title: A study", "title: " + 400 * "x", ("title: found", "300")),
    ("title: A study\n", "", ("title: found nothing",)),
    ("title: A study", "titel: A study", ("titel", "no such field")),
    # seeds
    ("seed: 0", "seed: '0'", ("seed: found '0'", "whole number")),
    ("seed: 0", "seed: -1", ("seed: found -1", "0")),
    ("seed: 0", "seed: 0.0", ("seed: found 0.0", "whole number")),
    ("seed: 0", "seed: true", ("seed: found true", "whole number")),
    ("seed: 0", "seed: 4294967296", ("seed: found 4294967296", "4294967295")),
    ("seed: 0", "seed: " + 5000 * "9", ("seed", "digits")),
    ("seed: 0", "seed: 0x" + 5000 * "f", ("seed", "digits")),
    ("seeds: [0, 1]", "seeds: ['0', 1]", ("grid.seeds.0: found '0'", "whole number")),
    ("seeds: [0, 1]", "seeds: [0, 1, 0]", ("grid.seeds", "0", "twice")),
    ("seeds: [0, 1]", "seeds: []", ("grid.seeds: found []",)),
    ("seeds: [0, 1]", "seeds: 0", ("grid.seeds: found 0", "list")),
    # numbers
    ("threads: 1", "threads: 0", ("threads: found 0",)),
    ("threads: 1", "threads: 100000", ("threads: found 100000",)),
    ("agents: 3", "agents: 1", ("agents: found 1", "2")),
    ("agents: 3", "agents: 6", ("agents: found 6", "5")),
    ("chapters: [1, 2]", "chapters: []", ("chapters: found []",)),
    ("chapters: [1, 2]", "chapters: [1, 9]", ("chapters.1: found 9",)),
    ("chapters: [1, 2]", "chapters: '1'", ("chapters", "'1'")),
    ("telling: brief", "telling: loud", ("telling: found 'loud'", "brief")),
    ("noise: 0.1", "noise: 1.1", ("noise: found 1.1", "1")),
    ("noise: 0.1", "noise: .nan", ("noise: found nan",)),
    ("noise: 0.1", "noise: false", ("noise: found false", "number")),
    ("train: 30", "train: 1000000000000", ("train: found 1000000000000",)),
    ("kind: hi_tom_style", "kind: hi_tom", ("kind: found 'hi_tom'", "hi_tom_style")),
    ("kind: hi_tom_style", "kind: null", ("kind", "null")),
    ("    kind: hi_tom_style\n", "", ("acquire.hi_tom_style.kind: found nothing",)),
    ("  hi_tom_style:\n", "  hi_tom:\n", ("acquire.hi_tom", "hi_tom_style")),
    ("  hi_tom_style:\n", "  Hi/tom:\n", ("acquire.Hi/tom",)),
    ("    test: 5\n  arithmetic", "    tests: 5\n  arithmetic", ("tests", "no such field")),
    ("    kind: arithmetic\n    test: 5", "    kind: arithmetic", ("arithmetic.test: found nothing",)),
    # data
    ("split: by-story", "split: by-row", ("dataset.split: found 'by-row'", "by-story")),
    ("  prompt: compact\n  comb", "  prompt: loud\n  comb", ("dataset.prompt: found 'loud'", "compact")),
    ("    hi:\n      train", "    Hi:\n      train", ("combinations.Hi",)),
    ("    hi:\n      train", "    1:\n      train", ("dataset.combinations", "found the name 1", "not text")),
    ("task: hi_tom_style_train", "task: hi_tom_stile", ("train.0.task: found 'hi_tom_stile'",)),
    ("task: hi_tom_style_train", "task: hi_tom", ("train.0.task", "hi_tom", "acquire")),
    ("task: hi_tom_style_train", "task: hi_tom_style_found", ("train.0.task: hi_tom_style_found has no questions", "tomrl attack")),
    ("task: hi_tom_style_train, ", "", ("train.0.task: found nothing",)),
    ("orders: [0, 1]", "orders: [0, 9]", ("train.0.orders", "9", "0, 1, 2, 3, 4")),
    ("orders: [0, 1]", "orders: [0, 0]", ("train.0.orders", "0", "twice")),
    ("orders: [0, 1]", "orders: []", ("train.0.orders: found []",)),
    ("orders: [0, 1]", "orders: 1", ("train.0.orders: found 1", "list")),
    ("limit: 20", "limit: 0", ("train.0.limit: found 0",)),
    ("limit: 20", "limit: 61", ("train.0.limit: 61 rows are asked for", "60", "30 stories", "lower the limit")),
    ("limit: 20", "limit: 30, rule: half", ("train.0.limit: found 30", "a multiple of 8")),
    ("orders: [0, 1], limit", "orders: [0, 4], limit", ("train.0.orders: found 4", "0, 1, 2, 3", "3 agents")),
    ("limit: 20", "fold: testing", ("train.0.fold: found 'testing'", "validation")),
    ("is_interesting: true", "is_intresting: true", ("validation.0.where", "is_intresting", "is_interesting")),
    ("is_interesting: true", "is_interesting: [true]", ("validation.0.where",)),
    ("where: {is_interesting: true}", "where: is_interesting", ("validation.0.where: found 'is_int",)),
    ("orders: [3]", "orders: [5]", ("suite.tasks.order_3.orders", "5")),
    ("task: hi_tom_style, orders: [3]", "task: arithmetic, orders: [3]", ("suite.tasks.order_3.orders", "suite.side_checks")),
    ("    order_1:", "    arithmetic:", (_at("    arithmetic:"), "suite.side_checks.arithmetic", "a task has the name")),
    ("trained: [hi]", "trained: [hello]", ("suite.tasks.order_1.trained", "'hello'", "hi")),
    ("trained: [hi]", "trained: [hi, hi]", ("suite.tasks.order_1.trained", "twice")),
    ("ngram: 13", "ngram: 0", ("audit.ngram: found 0",)),
    # models
    ("kind: tiny", "kind: huge", ("base.models.nano.kind: found 'huge'", "tiny")),
    ("size: nano", "size: mega", ("size: found 'mega'", "'nano'")),
    ("        steps: 6\n", "        steps: 0\n", ("warm_start.steps: found 0",)),
    ("learning_rate: 0.003", "learning_rate: 0", ("warm_start.learning_rate: found 0",)),
    ("learning_rate: 0.003", "learning_rate: '1e-6'", ("warm_start.learning_rate: found '1e-6'",)),
    ("stories: 200", "stories: 1000000000000", ("stories: found 1000000000000",)),
    ("stories: 200", "stories: 200\n        target_accuracy: 0.4", (_at("      warm_start:"), "warm_start", "400")),
    ("arithmetic_share: 0.1", "arithmetic_share: 2", ("arithmetic_share: found 2",)),
    ("vocabulary: 768", "vocabulary: 1", ("vocabulary: found 1",)),
    ("vocabulary: 768", "vocabulary: 10000000000", ("vocabulary: found 10000000000",)),
    ("context: 256", "context: 1", ("context: found 1",)),
    ("context: 256", "context: 100", ("context", "100", "208")),
    ("context: 256", "context: 1000000000000", ("context: found 1000000000000",)),
    ("    nano:\n", "    nano/x:\n", ("base.models.nano/x",)),
    ("    nano:\n", "    " + 200 * "n" + ":\n", ("base.models.nnn",)),
    # training
    ("backend: local", "backend: cloud", ("train.backend: found 'cloud'", "'local'")),
    ("nodes: 1", "nodes: 0", ("train.cluster.nodes: found 0",)),
    ("retries: 2", "retries: -1", ("train.cluster.retries: found -1",)),
    ("ppo: {discount: 1.0}", "ppo: {discounts: 1.0}", ("train.algorithms.ppo", "discounts")),
    ("ppo: {discount: 1.0}", "ppo: {discount: 2.0}", ("discount: found 2.0",)),
    ("ppo: {discount: 1.0}", "pqo: {discount: 1.0}", ("train.algorithms", "pqo")),
    ("ppo: {discount: 1.0}", "rft: {}", ("train.algorithms", "'rft'", "grpo, ppo")),
    ("reward: rlvr", "reward: rlhf", ("train.reward: found 'rlhf'", "'tom-rl'")),
    ("reward: rlvr", "reward: {preset: fidelity, weight: 3}", ("train.reward", "weight: found 3")),
    ("reward: rlvr", "reward: {preset: rlvr, weight: 1}", ("train.reward", "weight")),
    ("reward: rlvr", "reward: tom-rl", ("train.reward", "published", "'tom-rl-strict'")),
    ("reward: rlvr", "reward: {preset: rlvr, published: No.}", ("train.reward", "'rlvr' is strict")),
    ("reward: rlvr", "fidelity_weight: 0.5", (_at("train:"), "fidelity_weight", "train.reward")),
    ("prompts_per_step: 2", "prompts_per_step: 0", ("prompts_per_step: found 0",)),
    ("rollouts: 4", "rollouts: 1", ("train.rollouts", "1", "grpo", "2")),
    ("rollouts: 4", "rollouts: 1000000000000", ("train.rollouts: found 1000000000000", "1024")),
    ("rollouts: 4", "rollouts: 2024-01-01", ("train.rollouts: found", "whole number")),
    ("rollouts: 4", "rollouts:", ("train.rollouts: found null",)),
    ("rollouts: 4", "rollouts: 4\n  rollouts: 8", ("train.rollouts", "twice")),
    ("  rollouts: 4\n", "", ("train.rollouts: found nothing",)),
    ("rollouts: 4", "roll\\x1b[31mouts: 4", ("no such field",)),
    ("rollouts: 4", '"rolls\\e[31m\\a": 4', ("rolls\\x1b[31m\\x07", "no such field")),
    ("rollouts: 4", 'rollouts: "\\e]0;pwned\\a"', ("train.rollouts: found '\\x1b]0;pwned\\x07'",)),
    ("rollouts: 4", "rollouts: '[/bold]'", ("train.rollouts: found '[/bold]'",)),
    ("rollouts: 4", "rollouts: " + 3000 * "x", ("train.rollouts: found 'xxx", "...")),
    ("  steps: 4\n", "  steps: 4\n  epochs: 1\n", (_at("train:"), "train", "exactly one of steps and epochs")),
    ("  steps: 4\n", "", ("train", "exactly one of steps and epochs")),
    ("  steps: 4\n", "  epochs: 0\n", ("train.epochs: found 0",)),
    ("  steps: 4\n", "  steps: 1000000000000\n", ("train.steps: found 1000000000000",)),
    ("learning_rate: 1e-6", "learning_rate: -1e-6", ("train.learning_rate: found -1e-06",)),
    ("learning_rate: 1e-6", "learning_rate: 1e999", ("train.learning_rate: found inf",)),
    ("learning_rate: 1e-6", "learning_rate: 5e", ("train.learning_rate: found '5e'",)),
    ("learning_rate: 1e-6", "learning_rate: 1000", ("train.learning_rate: found 1000",)),
    ("clip_range: 0.2", "clip_range: 1.0", ("train.clip_range: found 1.0",)),
    ("clip_range: 0.2", "aggregation: mean", ("train.aggregation: found 'mean'", "token-mean")),
    ("kl_coefficient: 0.001", "kl_coefficient: -1", ("train.kl_coefficient: found -1",)),
    ("kl_in_reward: false", "kl_in_reward: 0", ("train.kl_in_reward: found 0", "true or false")),
    ("  temperature: 1.0", "  temperature: 0", ("train.temperature: found 0",)),
    ("max_prompt_tokens: 200", "max_prompt_tokens: -1", ("train.max_prompt_tokens: found -1",)),
    ("max_prompt_tokens: 200", "max_prompt_tokens: 10000000000", ("train.max_prompt_tokens: found",)),
    ("validate_every: 2", "validate_every: 0", ("train.validate_every: found 0",)),
    ("save_every: 1", "save_every: 1\n  device: tpu", ("train.device: found 'tpu'", "cuda")),
    ("save_every: 1", "save_every: 1\n  precision: float8", ("train.precision: found 'float8'",)),
    ("save_every: 1", "save_every: 1\n  checkpoint: worst", ("train.checkpoint: found 'worst'",)),
    # evaluation
    ("engine: hf", "engine: vllm\n  scoring: options", (_at("evaluate:"), "evaluate: found scoring: options with engine: vllm", "engines that do: hf")),
    ("engine: hf", "engine: llama", ("evaluate.engine: found 'llama'", "'hf'")),
    ("  temperature: 0\n", "  temperature: -1\n", ("evaluate.temperature: found -1",)),
    ("top_p: 1.0", "top_p: 0", ("evaluate.top_p: found 0",)),
    ("top_p: 1.0", "top_p: 1.1", ("evaluate.top_p: found 1.1",)),
    ("batch: 200", "batch: -200", ("evaluate.batch: found -200",)),
    ("batch: 200", "precision: float16", ("evaluate.precision: found 'float16'", "'bfloat16'")),
    (
        "engine: hf",
        "engine: vllm\n  precision: bfloat16",
        (_at("evaluate:"), "found precision: bfloat16 with engine: vllm", "leave precision out"),
    ),
    ("batch: 200", "batch: 1000000000000", ("evaluate.batch: found 1000000000000",)),
    ("task: arithmetic,", "task: hi_tom_style,", ("suite.side_checks.arithmetic.task: found 'hi_tom_style'", "arithmetic")),
    ("task: arithmetic,", "task: gsm8k,", ("suite.side_checks.arithmetic.task", "gsm8k", "acquire")),
    ("task: arithmetic,", "task: sums,", ("suite.side_checks.arithmetic.task: found 'sums'",)),
    ("arithmetic, prompt: compact", "arithmetic, prompt: rlvr", ("suite.side_checks.arithmetic.prompt: found 'rlvr'",)),
    # the grid
    ("models: [nano]", "models: [giant]", ("grid.models", "'giant'", "nano")),
    ("models: [nano]", "models: []", ("grid.models: found []",)),
    ("models: [nano]", "models: [nano, nano]", ("grid.models", "'nano'", "twice")),
    ("models: [nano]", "models: nano", ("grid.models: found 'nano'", "list")),
    ("combinations: [hi]\n", "combinations: [high]\n", ("grid.combinations", "'high'", "hi")),
    ("algorithms: [grpo, ppo]", "algorithms: [grpo, dpo]", ("grid.algorithms.1: found 'dpo'", "'rft'")),
    ("algorithms: [grpo, ppo]", "algorithms: [ppo, ppo]", ("grid.algorithms", "'ppo'", "twice")),
    ("seeds: [0, 1]", "evaluate_only: [oracle]", ("grid.evaluate_only", "'oracle'", "nano")),
    ("seeds: [0, 1]", "seeds: [0, 1]\n  sizes: [3]", ("grid.sizes", "no such field")),
    # the form of the file
    ("  hi_tom_style:\n", "  arithmetic: {kind: arithmetic, test: 5}\n  hi_tom_style:\n", ("acquire.arithmetic", "twice")),
    ("cluster: {nodes: 1, retries: 2}", "cluster: {nodes: 1, nodes: 2}", ("train.cluster.nodes", "twice")),
    ("title: A study", "title: A: study", ("not valid YAML",)),
    ("title: A study", "\ttitle: A study", ("not valid YAML",)),
    ("title: A study", "title: *study", ("not valid YAML",)),
    ("title: A study", "title: !!python/object:os.system A", ("python",)),
    ("title: A study", "title: !secret A", ("!secret",)),
    ("title: A study", "title: !!binary bm8=", ("title: found",)),
    ("title: A study", "title: A\0study", ("character",)),
    ("seed: 0", "seed: 1:30", ("seed: found '1:30'", "whole number")),
    ("title: A study", "? [a, b]\n: c\ntitle: A study", ("not text",)),
    ("title: A study", "? {a: b}\n: c\ntitle: A study", ("unhashable key",)),
    ("title: A study", "<<: 5\ntitle: A study", ("for merging",)),
    ("title: A study", "true: 1\ntitle: A study", ("true",)),
    ("title: A study", "title: A study\n---\ntitle: B", ("line ", "single document",)),
)  # fmt: skip


def _bomb(depth: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, depth)]
    return "\n".join(lines) + "\n"


# (what the file is, its content, words of the message)
WHOLE: tuple[tuple[str, str | bytes, tuple[str, ...]], ...] = (
    ("empty", "", ("holds nothing",)),
    ("only a comment", "# nothing\n", ("holds nothing",)),
    ("null", "null\n", ("holds nothing",)),
    ("a list", "[]\n", ("list",)),
    ("text", "study\n", ("'study'",)),
    ("an empty object", "{}\n", ("name: found nothing", "grid: found nothing")),
    ("binary", BINARY, ("UTF-8",)),
    ("UTF-16", GOOD.encode("utf-16"), ("UTF-8",)),
    ("Latin-1", GOOD.replace("A study", "Ein Stück").encode("latin-1"), ("UTF-8", "line 2")),
    ("10 MB", "# " + 10_000_000 * "x" + "\n" + GOOD, ("10,0", "at most")),
    ("deep lists", "a: " + 20_000 * "[" + 20_000 * "]", ("nested", "line 1")),
    ("deep blocks", "".join(" " * n + "a:\n" for n in range(600)), ("nested",)),
    ("an alias bomb", _bomb(9), ("too many", )),
    ("an alias of itself", "a: &a [*a]\n", ("nested",)),
    ("a merge of itself", "a: &a {<<: *a}\n", ("",)),
    ("cut off", GOOD[: len(GOOD) // 2], ("line ",)),
    ("two studies", GOOD + "---\n" + GOOD, ("single document",)),
    ("params.yaml of a study", "study: {name: bad, title: A, seed: 0, threads: 1}\n", ("study", "no such field")),
)  # fmt: skip

# (what, edits of the good file, words): several mistakes at once, or mistakes across sections
JOINT: tuple[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], ...] = (
    (
        "five mistakes at once",
        (
            ("seed: 0", "seed: '0'"),
            ("agents: 3", "agents: 9"),
            ("rollouts: 4", "rollouts: 1"),
            ("orders: [3]", "orders: [7]"),
            ("models: [nano]", "models: [giant]"),
        ),
        ("5 mistakes", "line 3: seed", "agents: found 9", "rollouts", "orders", "'giant'"),
    ),
    (
        "a cell named like a base model's",
        (("    hi:\n      train", "    base:\n      train"), ("[hi]\n", "[base]\n"), ("trained: [hi]", "trained: [base]"), ("[grpo, ppo]", "[ppo]"), ("  seeds: [0, 1]\n", "")),
        ("nano-base", "twice"),
    ),
    *(
        (f"a study named {name}", (("name: bad", f"name: {name}"),), ("name: found", name))
        for name in ("raw", "combos", "suite", "sources", "base", "audit")
    ),
)  # fmt: skip


def edited_studies() -> Iterator[BadInput]:
    """Yield the good study file with one mistake each."""
    for old, new, says in EDITS:
        text = _edited(GOOD, old, new)
        # A mistake of a section as a whole stands in the line of its name, which is stated.
        line = next((word for word in says if word.startswith("line ")), _line_of_difference(text))
        name = f"study: {_short(old)} -> {_short(new)}"
        yield BadInput(name, USE, ("bad.yaml", line, *says), {FILE: becomes(text)})


def whole_studies() -> Iterator[BadInput]:
    """Yield files that are no study at all, and those with several mistakes."""
    for what, content, says in WHOLE:
        yield BadInput(f"study: {what}", USE, ("bad.yaml", *says), {FILE: becomes(content)})
    for what, edits, says in JOINT:
        text, name = GOOD, "bad"
        for old, new in edits:
            text = _edited(text, old, new)
            name = new.removeprefix("name: ") if old == "name: bad" else name
        file, use = f"studies/{name}.yaml", (*USE[:-1], name)
        yield BadInput(f"study: {what}", use, (f"{name}.yaml", *says), {file: becomes(text)})


def _edited(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the study"
    return text.replace(old, new)


def _line_of_difference(text: str) -> str:
    """The line that the message must name; that of a field's section where it is gone."""
    if len(text.split("\n")) < len(GOOD.split("\n")):
        return "line "
    pairs = zip(text.split("\n"), GOOD.split("\n"), strict=False)
    first = next(number for number, (new, old) in enumerate(pairs, 1) if new != old)
    return f"line {first}"


def _short(text: str) -> str:
    return repr(text if len(text) < 50 else f"{text[:47]}...")
