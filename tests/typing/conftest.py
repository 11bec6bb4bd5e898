"""The snippets are read by type checkers and run by `test_reveal`; pytest finds no tests in them."""

collect_ignore_glob = ["snippets/*"]
