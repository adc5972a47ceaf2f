"""Rules on tests, which tidy.py applies: a test must be able to fail, and none sleeps in disguise.

A C++ test claims something if its body, or a function of a test that it calls, has an assertion of
googletest or a static_assert; a Python test if it, or a function that it calls, asserts, raises, or
calls something named assert..., expect... or check.... A wait on a Guarded or a Condition that
nothing in the same file, or for members in the same folder, ever changes is a sleep.
Needs nothing but Python's standard library.
"""
import ast
import re

ASSERTION = re.compile(r"\b(?:(?:EXPECT|ASSERT)_\w+|ADD_FAILURE\w*|FAIL|GTEST_FAIL|static_assert)\b")
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+),\s*(\w+)\s*\)\s*\{", re.MULTILINE)
NAME = re.compile(r"\b([A-Za-z_]\w*)(?:<[^;(){}]*>)?\s*\(")
LAMBDA = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*\[[^\]]*\]")
# Between the parameters of a function, or of a lambda, and its body.
BEFORE_BODY = re.compile(r"\s*(?:const\b|noexcept\b|override\b|final\b|mutable\b|->[^;{}()]*|\s)*\{")
NO_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "TEST", "TEST_F",
                "TEST_P", "TYPED_TEST"}
PYTHON_CLAIMS = ("assert", "expect", "check", "fail")
WAIT = re.compile(r"\b(\w+)(?:\.|->)wait_until\s*\(")


def closing(code, start, pair):
    """The place after the bracket that closes the one at `start`; the end if none does."""
    depth = 0
    for found in re.compile("[" + re.escape(pair) + "]").finditer(code, start):
        depth += 1 if found.group() == pair[0] else -1
        if depth == 0:
            return found.end()
    return len(code)


def bodies(code):
    """(name, body) of every function and named lambda of `code`, which has no comments."""
    for found in NAME.finditer(code):
        if found[1] in NO_FUNCTIONS:
            continue
        after = closing(code, found.end() - 1, "()")
        begin = BEFORE_BODY.match(code, after)
        if begin:
            yield found[1], code[begin.end() - 1:closing(code, begin.end() - 1, "{}")]
    for found in LAMBDA.finditer(code):
        begin = code.find("{", found.end())
        if begin >= 0:
            yield found[1], code[begin:closing(code, begin, "{}")]


def called(body):
    return set(NAME.findall(body))


def claiming(functions, claims):
    """The names of `functions` [(name, what it calls, its text)] that claim something themselves or
    through others."""
    names = {name for name, _, text in functions if claims(text)}
    while True:
        more = {name for name, calls, _ in functions if name not in names and calls & names}
        if not more:
            return names
        names |= more


def claimless_cpp_tests(codes):
    """(path, line, name) of tests that cannot fail. `codes`: {path: text without comments}."""
    shared, tests = [], {}
    for path, code in codes.items():
        if path.suffix == ".h" and ASSERTION.search(code):
            shared += [(name, called(body), body) for name, body in bodies(code)]
        elif path.suffix == ".cpp" and TEST.search(code):
            tests[path] = code
    shared_names = claiming(shared, ASSERTION.search)
    for path, code in tests.items():
        found = [(test.start(), f"{test[1]}.{test[2]}",
                  code[test.end() - 1:closing(code, test.end() - 1, "{}")])
                 for test in TEST.finditer(code)]
        # A disabled one is run by another test, as a process that it watches.
        silent = [test for test in found
                  if ".DISABLED_" not in test[1] and not ASSERTION.search(test[2])]
        if not silent:
            continue
        own = [(name, called(body), body) for name, body in bodies(code)]
        names = claiming(own + [(name, set(), "FAIL") for name in shared_names], ASSERTION.search)
        for start, name, body in silent:
            if not called(body) & names:
                yield path, code.count("\n", 0, start) + 1, name


def python_calls(function):
    return {getattr(node.func, "id", getattr(node.func, "attr", ""))
            for node in ast.walk(function) if isinstance(node, ast.Call)}


def python_claims(function):
    if any(isinstance(node, (ast.Assert, ast.Raise)) for node in ast.walk(function)):
        return True
    return any(name.lstrip("_").startswith(PYTHON_CLAIMS) for name in python_calls(function))


def claimless_python_tests(texts):
    """(path, line, name) of functions test_... that cannot fail, in {path: text}, and of those that
    another of the same name in the same place hides."""
    functions, tests = [], []
    for path, text in texts.items():
        for scope in ast.walk(ast.parse(text)):
            if not isinstance(scope, (ast.Module, ast.ClassDef)):
                continue
            seen = {}
            for node in scope.body:
                if not isinstance(node, ast.FunctionDef):
                    continue
                functions.append((node.name, python_calls(node), node))
                if node.name.startswith("test_"):
                    if node.name in seen:
                        yield path, seen[node.name], f"{node.name}, which another one hides,"
                    seen[node.name] = node.lineno
                    tests.append((path, node))
    names = claiming(functions, python_claims)
    for path, node in tests:
        if not python_claims(node) and not python_calls(node) & names:
            yield path, node.lineno, node.name


def hidden_sleeps(codes):
    """(path, line, name) of waits for what nothing changes. `codes`: {path: text without comments}
    of one folder."""
    for path, code in codes.items():
        for found in WAIT.finditer(code):
            name = found[1]
            changed = re.compile(rf"\b{name}(?:\.|->)(?:with|notify_\w+)\s*\(")
            near = codes.values() if name.endswith("_") else [code]
            if not any(changed.search(text) for text in near):
                yield path, code.count("\n", 0, found.start()) + 1, name
