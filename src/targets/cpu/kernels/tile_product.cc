#include "targets/cpu/kernels/tile_product.h"

#if defined(__x86_64__)

#include <algorithm>
#include <type_traits>
#include <utility>

namespace unfuse::cpu {

TileRegisters::TileRegisters() {
  struct TileSizes {
    std::uint8_t palette;
    std::uint8_t start_row;
    std::uint8_t reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  alignas(64) TileSizes sizes = {};
  sizes.palette = 1;
  std::fill_n(sizes.row_bytes, 8, std::uint16_t{kTile * sizeof(float)});
  std::fill_n(sizes.rows, 8, std::uint8_t{kTile});
  asm volatile("ldtilecfg %0" : : "m"(sizes));
}

TileRegisters::~TileRegisters() { asm volatile("tilerelease"); }

namespace {

// Instructions by their names: compilers know them in functions only that run nowhere else, and
// register numbers have to be literals in their intrinsics.

template <int kRegister>
void zero_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kRegister));
}

template <int kRegister>
void load_tile(const float* from, std::int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
               :
               : "i"(kRegister), "r"(from), "r"(stride * std::int64_t{sizeof(float)})
               : "memory");
}

template <int kRegister>
void store_tile(float* to, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
               :
               : "i"(kRegister), "r"(to), "r"(stride * std::int64_t{sizeof(float)})
               : "memory");
}

template <int kSum, int kLeft, int kRight>
void multiply_tile() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}

template <int kCount, class Body>
void unroll(const Body& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    (body(std::integral_constant<int, kIndex>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

/// Tiles that lie side by side: kRows x kColumns of them, at most 2 x 2. Registers 0 to 3 hold
/// sums, 4 and 5 the left side, 6 and 7 the right one.
template <int kRows, int kColumns>
void multiply_block(const TileProduct& block) {
  const auto each_sum = [&](const auto& body) {
    unroll<kRows>([&](auto r) { unroll<kColumns>([&](auto c) { body(r, c); }); });
  };
  const auto sums = [&](int row, int column) {
    return block.sums + row * kTile * block.sums_stride + column * kTile;
  };
  each_sum([&](auto r, auto c) {
    constexpr int kSum = r * 2 + c;
    block.adds ? load_tile<kSum>(sums(r, c), block.sums_stride) : zero_tile<kSum>();
  });
  const float* left = block.left;
  const float* right = block.right;
  for (std::int64_t k = 0; k < block.depth; k += kTile) {
    unroll<kColumns>([&](auto c) { load_tile<6 + c>(right + c * kTile, block.right_stride); });
    unroll<kRows>([&](auto r) {
      load_tile<4 + r>(left + r * kTile * block.left_stride, block.left_stride);
      unroll<kColumns>([&](auto c) { multiply_tile<r * 2 + c, 4 + r, 6 + c>(); });
    });
    left += kTile;
    right += kTile * block.right_stride;
  }
  each_sum([&](auto r, auto c) { store_tile<r * 2 + c>(sums(r, c), block.sums_stride); });
}

void multiply_block(const TileProduct& block, bool two_rows, bool two_columns) {
  if (two_rows) return two_columns ? multiply_block<2, 2>(block) : multiply_block<2, 1>(block);
  two_columns ? multiply_block<1, 2>(block) : multiply_block<1, 1>(block);
}

}  // namespace

void multiply_tiles(const TileRegisters& /*registers*/, const TileProduct& product) {
  // So much of two columns of tiles stays in the first-level cache while the rows go by.
  constexpr std::int64_t kPart = 16 * kTile;
  for (std::int64_t k = 0; k < product.depth; k += kPart) {
    for (std::int64_t column = 0; column < product.columns; column += 2 * kTile) {
      for (std::int64_t row = 0; row < product.rows; row += 2 * kTile) {
        TileProduct block = product;
        block.left += row * product.left_stride + k;
        block.right += k * product.right_stride + column;
        block.depth = std::min(kPart, product.depth - k);
        block.adds = product.adds || k > 0;
        block.sums += row * product.sums_stride + column;
        multiply_block(block, product.rows - row > kTile, product.columns - column > kTile);
      }
    }
  }
}

double multiply_tiles_in_registers(std::int64_t rounds) {
  const TileRegisters registers;  // zeros
  for (std::int64_t round = 0; round < rounds; ++round) {
    multiply_tile<0, 4, 6>();
    multiply_tile<1, 4, 7>();
    multiply_tile<2, 5, 6>();
    multiply_tile<3, 5, 7>();
  }
  constexpr double kMultiplyAdds = 4 * kTile * kTile * 2 * kTile;
  return 2 * kMultiplyAdds * static_cast<double>(rounds);
}

}  // namespace unfuse::cpu

#endif
