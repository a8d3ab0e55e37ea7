"""The same classes in Python."""

import numpy as np


class Square:
    def __init__(self, offset, side):
        self.offset, self.side = offset, side

    def area(self):
        return self.side**2

    def scaled(self, factor):
        return factor * self.area() + self.offset


class Rectangle(Square):
    def __init__(self, offset, width, height):
        self.offset, self.width, self.height = offset, width, height

    def area(self):
        return self.width * self.height


class Frame(Square):
    def __init__(self, side):
        super().__init__(side, side)
        self.hole = Rectangle(1, 3, side - 1)

    def area(self):
        return self.side**2 - self.hole.area()

    def scaled(self, factor):
        return super().scaled(factor) ^ self.hole.scaled(factor)


def arrays():
    x = np.random.default_rng(25).integers(2, 100, 64, dtype=np.int32)
    y = []
    for i, side in enumerate(map(int, x)):
        shape = [lambda: Square(i, side), lambda: Rectangle(i, side, 9), lambda: Frame(side)][side % 3]()
        y.append(shape.scaled(i % 5))
    return {"x": x, "y": np.array(y, np.int32)}
