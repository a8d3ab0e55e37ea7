"""A program, and its result for each input, by a machine in Python."""

import numpy as np

CODE = [
    (1, 0), (5, 15), (8, 3), (7, 0), (8, 2), (1, 0), (9, 40), (8, 0), (0, 12345), (2, 0), (6, 1), (10, 99),
    (3, 0), (1, 0), (8, 1), (5, 7), (8, 3), (9, 3), (8, 2), (4, 0), (0, 77), (2, 0), (10, 4660), (8, 1),
]  # fmt: skip


def wrapped(x):
    return (x + 2**31) % 2**32 - 2**31


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def halved(x):
    # As C divides: towards zero, and the remainder has the sign of the dividend.
    return wrapped(3 * x + 1) if x & 1 else abs(x) // 2 * (1 if x > 0 else -1)


FUNCTIONS = [lambda x: x * x, lambda x: -x, halved, fibonacci]


def run(code, value):
    stack, skip = [value], False
    for opcode, operand in code:
        if skip:
            skip = False
            continue
        match opcode:
            case 0:
                stack.append(operand)
            case 1:
                stack.append(stack[-1])
            case 2 | 3 | 4:
                b, a = stack.pop(), stack.pop()
                stack.append(wrapped({2: a + b, 3: a * b, 4: a - b}[opcode]))
            case 5:
                stack[-1] &= operand
            case 6:
                stack[-1] >>= operand
            case 7:
                stack[-2:] = stack[:-3:-1]
            case 8:
                stack[-1] = wrapped(FUNCTIONS[operand](stack[-1]))
            case 9:
                skip = stack[-1] > operand
            case _:
                stack[-1] ^= operand
    return stack[-1]


def arrays():
    inputs = np.random.default_rng(13).integers(-500, 500, 64, dtype=np.int32)
    results = [run(CODE[: len(CODE) - 2 * (i % 2)], int(value)) for i, value in enumerate(inputs)]
    return {"code": np.array(CODE, np.int32), "inputs": inputs, "results": np.array(results, np.int32)}
