"""A fuzzer for every parser: mutants of valid samples, each judged in a worker with bounds on CPU time and memory.

`targets` say what is called and with which samples, `mutation` makes the mutants, `worker` judges one, `campaign`
plays many and keeps what is found, `found/` holds inputs that were found and are played again in every test run.
"""
