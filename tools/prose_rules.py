"""Rules on the language of comments and pages, which tidy.py applies (docs/HACKING.md, "Prose").

No sentence begins with "Of": name the subject first. A few private words have a plain one instead,
which the message names. Pages are checked outside code blocks, inline code and targets of links;
sources in their comments. A line may keep such a word: `tidy: allow prose: reason`.
Needs nothing but Python's standard library.
"""
import io
import re
import tokenize

# (pattern, what to write instead).
WORDS = [
    (r"\bvoices?\b", "vote"),
    (r"\bsuch a one\b", "the thing's name"),
    (r"\bas ever\b", "as usual"),
    (r"\b(?:hears?|heard) (?:of|from|nothing)\b", "receive, learn"),
    (r"\b(?:tells?|told|telling) of\b", "report"),
    (r"\bwhoever\b", "the peer, caller or person that"),
    (r"\bputs? out\b|\bputting out\b", "remove, expel"),
    (r"\bis looked for\b", "search"),
    (r"\bof one's own\b", "your own, a user's"),
    (r"\bshall\b", "must, should"),
]
SENTENCE_WITH_OF = re.compile(r"(?:^|[.!?:]\s+)Of(?: [a-z`*]|$)")
# What a page shows and does not say: inline code, targets of links.
NOT_SAID = re.compile(r"`[^`]*`|\]\([^)]*\)")
# Where a new sentence may begin in a page: a list's item, a table's cell, a heading.
PAGE_ITEM = re.compile(r"^\s*(?:[*-]|\d+\.|#+|>)\s+|\|\s*")


def comments(path, text):
    """(line, words) of the comments of a source; consecutive lines of one comment are one entry."""
    if path.suffix == ".py":
        try:
            found = [(token.start[0], token.string.lstrip("# "), not token.line[:token.start[1]].strip())
                     for token in tokenize.generate_tokens(io.StringIO(text).readline)
                     if token.type == tokenize.COMMENT]
        except (tokenize.TokenError, SyntaxError):
            return []
    else:
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            said = re.search(r'^((?:"(?:\\.|[^"\\])*"|[^"])*?)//+ ?(.*)$', line)
            if said:
                found.append((number, said[2], not said[1].strip()))
    entries, next_line = [], 0
    for number, words, alone in found:
        # A comment behind code, an indented line and one after an empty line begin anew.
        if alone and number == next_line and words and not words.startswith(" "):
            entries[-1].append((number, words))
        else:
            entries.append([(number, words)])
        next_line = number + 1 if alone and words else 0
    return entries


def paragraphs(text):
    """The same of a page in Markdown: its paragraphs, items and rows outside blocks of code."""
    entries, fenced, last = [], False, -1
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        said = "" if fenced or line.startswith(("    ", "```")) else NOT_SAID.sub("x", line).rstrip()
        if not said.strip():
            last = -1
        elif PAGE_ITEM.match(said):
            entries += [[(number, cell.strip())] for cell in PAGE_ITEM.sub("\n", said).split("\n")]
            last = number
        elif number == last + 1:
            entries[-1].append((number, said.strip()))
            last = number
        else:
            entries.append([(number, said.strip())])
            last = number
    return entries


def faults(name, path, text, all_words):
    """Faults in the file `name`; private words only with `all_words`."""
    lines, result = text.splitlines(), []
    for entry in paragraphs(text) if path.suffix == ".md" else comments(path, text):
        ended = True
        for number, words in entry:
            if "tidy: allow prose: " in lines[number - 1]:
                continue
            if SENTENCE_WITH_OF.search(words.lstrip() if ended else "x " + words):
                result.append(f"{name}:{number}: prose: a sentence begins with \"Of\": name its "
                              "subject first")
            for pattern, instead in WORDS if all_words else ():
                word = re.search(pattern, words, re.IGNORECASE)
                if word:
                    result.append(f"{name}:{number}: prose: \"{word[0]}\": write {instead}")
            ended = words.rstrip().endswith((".", "!", "?", ":", ";"))
    return result


def check(root, paths):
    """Faults of all pages, and of the comments of sources and tools; headers and pages are also held
    to the words."""
    result = []
    for path in paths:
        name = path.relative_to(root)
        top = name.parts[0]
        page = path.suffix == ".md"
        source = path.suffix in (".h", ".cpp", ".inc", ".cu", ".py") and top in (
            "src", "tests", "fuzz", "bench", "examples", "bindings", "tools")
        if (page or source) and not path.name.startswith(("prose_rules", "tidy_test")):
            text = path.read_text(encoding="utf-8", errors="replace")
            result += faults(name, path, text, page or (top == "src" and path.suffix == ".h"))
    return result
