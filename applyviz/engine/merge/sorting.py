"""Go's two sort algorithms, reproduced step by step for comparisons that are not a proper order.

Strategic merge sorts with `a <= b` (Go's `sort.Sort`, not stable) and with a comparison that is not transitive (Go's
`sort.SliceStable`), so the resulting order depends on the algorithm. Rule: https://pkg.go.dev/sort (pattern-defeating
quicksort; insertion sort with SymMerge). Proper orders use Python's own sort, which gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from applyviz.engine.objects.values import JSONValue

_INSERTION_LIMIT = 12
_NINTHER_LIMIT = 50
_BLOCK = 20
_MASK = (1 << 64) - 1
_Item = TypeVar("_Item", bound=JSONValue)


def sort_by_text(items: Sequence[_Item], texts: Sequence[str]) -> list[_Item]:
    """Sort items by their texts as Go's `sort.Sort` does when equal texts count as less."""
    size = len(items)
    if len(set(texts)) == size:
        return [items[i] for i in sorted(range(size), key=texts.__getitem__)]
    if size <= _INSERTION_LIMIT:
        # Insertion sort moves an item before its equals, so equals come out reversed.
        return [items[i] for i in sorted(range(size - 1, -1, -1), key=texts.__getitem__)]
    order = list(range(size))
    _QuickSort(order, lambda a, b: texts[a] <= texts[b]).sort(0, size, size.bit_length())
    return [items[i] for i in order]


def sort_by_rank(items: Sequence[_Item], ranks: Sequence[int]) -> list[_Item]:
    """Sort items by rank as Go's `sort.SliceStable` does when an item without rank (-1) is always less."""
    size = len(items)
    if -1 not in ranks:
        return [items[i] for i in sorted(range(size), key=ranks.__getitem__)]
    order = list(range(size))

    def is_less(a: int, b: int) -> bool:
        left, right = ranks[a], ranks[b]
        return left < 0 or right < 0 or left < right

    _StableSort(order, is_less).sort()
    return [items[i] for i in order]


class _Sort:
    def __init__(self, data: list[int], is_less: Callable[[int, int], bool]) -> None:
        self.data = data
        self.is_less = is_less

    def less(self, i: int, j: int) -> bool:
        return self.is_less(self.data[i], self.data[j])

    def swap(self, i: int, j: int) -> None:
        data = self.data
        data[i], data[j] = data[j], data[i]

    def insert(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1


class _QuickSort(_Sort):
    """Pattern-defeating quicksort over data[a:b]; `limit` bad pivots lead to a heap sort.

    - Go partitions off values equal to an earlier pivot; where equal counts as less, that never happens.
    """

    def sort(self, a: int, b: int, limit: int) -> None:
        is_balanced = is_partitioned = True
        while b - a > _INSERTION_LIMIT:
            if limit == 0:
                self._sort_heap(a, b)
                return
            if not is_balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, is_increasing = self._choose_pivot(a, b)
            if is_balanced and is_partitioned and is_increasing and self._insert_few(a, b):
                return
            length = b - a
            middle, is_partitioned = self._partition(a, b, pivot)
            is_balanced = min(middle - a, b - middle) >= length // 8
            if middle - a < b - middle:
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                self.sort(middle + 1, b, limit)
                b = middle
        self.insert(a, b)

    def _sift_down(self, low: int, high: int, first: int) -> None:
        root = low
        while (child := 2 * root + 1) < high:
            if child + 1 < high and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def _sort_heap(self, a: int, b: int) -> None:
        size = b - a
        for i in range((size - 1) // 2, -1, -1):
            self._sift_down(i, size, a)
        for i in range(size - 1, -1, -1):
            self.swap(a, a + i)
            self._sift_down(0, i, a)

    def _narrow(self, i: int, j: int, pivot: int) -> tuple[int, int]:
        while i <= j and self.less(i, pivot):
            i += 1
        while i <= j and not self.less(j, pivot):
            j -= 1
        return i, j

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        self.swap(a, pivot)
        i, j = self._narrow(a + 1, b - 1, a)
        is_done = i > j
        while i <= j:
            self.swap(i, j)
            i, j = self._narrow(i + 1, j - 1, a)
        self.swap(j, a)
        return j, is_done

    def _insert_few(self, a: int, b: int) -> bool:
        i = a + 1
        for _ in range(5):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _NINTHER_LIMIT:
                return False
            self.swap(i, i - 1)
            self._shift(a, b, i)
        return False

    def _shift(self, a: int, b: int, i: int) -> None:
        if i - a >= 2:
            j = i - 1
            while j >= 1 and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1
        if b - i >= 2:
            j = i + 1
            while j < b and self.less(j, j - 1):
                self.swap(j, j - 1)
                j += 1

    def _break_patterns(self, a: int, b: int) -> None:
        length = b - a
        random, modulus = length, 1 << length.bit_length()
        start = a + (length // 4) * 2 - 1
        for position in range(start, start + 3):
            random ^= (random << 13) & _MASK
            random ^= random >> 7
            random ^= (random << 17) & _MASK
            other = random & (modulus - 1)
            self.swap(position, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, bool]:
        """Return a pivot and whether the slice looks sorted; a descending slice is reversed first."""
        quarter = (b - a) // 4
        i, j, k = a + quarter, a + quarter * 2, a + quarter * 3
        swaps = [0]
        if b - a >= _NINTHER_LIMIT:
            i, j, k = (self._median(x - 1, x, x + 1, swaps) for x in (i, j, k))
        j = self._median(i, j, k, swaps)
        if swaps[0] == 12:
            self.data[a:b] = self.data[a:b][::-1]
            return b - 1 - (j - a), True
        return j, swaps[0] == 0

    def _order(self, a: int, b: int, swaps: list[int]) -> tuple[int, int]:
        if self.less(b, a):
            swaps[0] += 1
            return b, a
        return a, b

    def _median(self, a: int, b: int, c: int, swaps: list[int]) -> int:
        a, b = self._order(a, b, swaps)
        b, c = self._order(b, c, swaps)
        a, b = self._order(a, b, swaps)
        return b


class _StableSort(_Sort):
    """Insertion sort of blocks, then SymMerge of neighbors."""

    def sort(self) -> None:
        size = len(self.data)
        block = _BLOCK
        for start in range(0, size, block):
            self.insert(start, min(start + block, size))
        while block < size:
            start = 0
            while start + block < size:
                self._merge(start, start + block, min(start + 2 * block, size))
                start += 2 * block
            block *= 2

    def _merge(self, a: int, m: int, b: int) -> None:
        if m - a == 1:
            self._merge_first(a, m, b)
        elif b - m == 1:
            self._merge_last(a, m)
        else:
            self._merge_halves(a, m, b)

    def _merge_first(self, a: int, m: int, b: int) -> None:
        low, high = m, b
        while low < high:
            half = (low + high) >> 1
            if self.less(half, a):
                low = half + 1
            else:
                high = half
        self.data[a:low] = [*self.data[a + 1 : low], self.data[a]]

    def _merge_last(self, a: int, m: int) -> None:
        low, high = a, m
        while low < high:
            half = (low + high) >> 1
            if not self.less(m, half):
                low = half + 1
            else:
                high = half
        self.data[low : m + 1] = [self.data[m], *self.data[low:m]]

    def _merge_halves(self, a: int, m: int, b: int) -> None:
        middle = (a + b) >> 1
        total = middle + m
        start, right = (total - b, middle) if m > middle else (a, m)
        while start < right:
            center = (start + right) >> 1
            if not self.less(total - 1 - center, center):
                start = center + 1
            else:
                right = center
        end = total - start
        if start < m < end:
            self.data[start:end] = self.data[m:end] + self.data[start:m]
        if a < start < middle:
            self._merge(a, start, middle)
        if middle < end < b:
            self._merge(middle, end, b)
