// Rows without those that padding fills. Made and run by the CPU target alone.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    // Of `kept` [batch, length], bool: where each sequence's kept rows begin among all that are
    // kept [batch + 1], the last being their number; the row that each of them is
    // [batch * length]; and for every row which of the kept ones it is, or -1.
    {"unfuse.packed_rows", "(Tensor kept) -> (Tensor offsets, Tensor sources, Tensor places)"},
    // The kept rows of [batch, length, ...] first; those behind them are not filled.
    {"unfuse.pack_rows", "(Tensor input, Tensor offsets, Tensor sources) -> Tensor"},
    // Every row at its place again, zeros where there is none.
    {"unfuse.unpack_rows", "(Tensor input, Tensor places) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> packed_rows_ops() { return kRows; }

}  // namespace unfuse::ops
