#!/usr/bin/env python3
"""Writes bpe_tokenizer.json and bpe_cases.json: what a byte-level BPE must train and encode.

usage: tests/golden/make_bpe.py
A second implementation, as plain as can be, with Python's standard library alone: the pieces are
cut by hand after the text of GPT-2's pattern, pairs are counted anew before every merge, and
encoding applies one merge after another in the order of their ranks.
"""
import json
import pathlib
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age "
    "of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season "
    "of Light, it was the season of Darkness, it was the spring of hope, it was the winter of "
    "despair. We're, they'll, I've; it's 1859: 1 859 pages...\n\n  Größe, naïve café, "
    "“quotes” — 東京東京 и так далее, так и было.\n" * 3)
MERGES = 120
CASES = [
    "", " ", "a", "it was the best", "It's we're I'VE they'll 'tis o'clock 's", "  two  spaces  ",
    "tabs\tand\nlines\r\n\n\n end ", "1859 and 18.59 x12y", "東京 и так", "naïve cafés Größe",
    "\u00a0no-break\u2003em space\u3000wide ", "½ ² ٣ Ⅷ 12", "👩\u200d🚀 emoji 🎉🎉", "e\u0301 combining",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "<|end|>", "a<|end|><|end|>b <|end|> it", "<|end", "...!?-- ([{", "\x00\x01\x7f\x85",
]


def byte_characters():
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    table = {byte: chr(byte) for byte in visible}
    table.update({byte: chr(256 + i) for i, byte in enumerate(hidden)})
    return visible + hidden, table


def is_space(c):
    return c in "\t\n\v\f\r\x85" or unicodedata.category(c) in ("Zs", "Zl", "Zp")


def kind(c):
    if is_space(c):
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(c)[0], "other")


def pieces(text):
    at = 0
    while at < len(text):
        for contraction in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
            if text.startswith(contraction, at):
                end = at + len(contraction)
                break
        else:
            start = at + (text[at] == " " and at + 1 < len(text))
            if kind(text[start]) == "space":
                start = at
            end = start + 1
            while end < len(text) and kind(text[end]) == kind(text[start]):
                end += 1
            # A run of spaces leaves its last one to the word after it.
            if kind(text[start]) == "space" and end < len(text) and end - start > 1:
                end -= 1
        yield text[at:end]
        at = end


def merged(tokens, pair, token):
    result, at = [], 0
    while at < len(tokens):
        if tuple(tokens[at:at + 2]) == pair:
            result.append(token)
            at += 2
        else:
            result.append(tokens[at])
            at += 1
    return result


def train(text, count):
    order, _ = byte_characters()
    tokens = [bytes([byte]) for byte in order]
    place = {token: i for i, token in enumerate(tokens)}
    words = [[place[bytes([b])] for b in piece.encode()] for piece in pieces(text)]
    merges = []
    while len(merges) < count:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        token = tokens[best[0]] + tokens[best[1]]
        if token not in place:
            place[token] = len(tokens)
            tokens.append(token)
        merges.append(best)
        words = [merged(word, best, place[token]) for word in words]
    return tokens, merges, place


def encode(text, tokens, merges, place, special):
    result = []
    for i, part in enumerate(text.split("<|end|>")):
        if i > 0:
            result.append(special)
        for piece in pieces(part):
            word = [place[bytes([b])] for b in piece.encode()]
            for pair in merges:
                word = merged(word, pair, place[tokens[pair[0]] + tokens[pair[1]]])
            result.extend(word)
    return result


def main():
    tokens, merges, place = train(CORPUS, MERGES)
    special = len(tokens)
    _, table = byte_characters()

    def shown(token):
        return "".join(table[byte] for byte in tokens[token])

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    file = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": special, "content": "<|end|>", "single_word": False,
                          "lstrip": False, "rstrip": False, "normalized": False, "special": True}],
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                  "vocab": {shown(i): i for i in range(len(tokens))},
                  "merges": [f"{shown(a)} {shown(b)}" for a, b in merges]},
    }
    cases = {"corpus": CORPUS, "merges": [list(pair) for pair in merges],
             "tokens": [token.hex() for token in tokens],
             "cases": [{"text": text, "pieces": [p for part in [text] for p in pieces(part)],
                        "tokens": encode(text, tokens, merges, place, special)}
                       for text in CASES]}
    (HERE / "bpe_tokenizer.json").write_text(json.dumps(file, ensure_ascii=False) + "\n")
    (HERE / "bpe_cases.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
