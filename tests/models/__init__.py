"""What runtimes themselves do and the product does not decide: references for tests, one a host."""
