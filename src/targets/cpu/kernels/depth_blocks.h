// How far a product runs before its sum goes to memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace unfuse::cpu {

/// Elements summed in one go. The error of a float32 sum grows with its length: one running sum
/// over 2048 elements is off by 2.2 times what sums over blocks are. MKL, and so PyTorch's eager
/// mode, sums blocks of the same length.
inline constexpr std::int64_t kDepthBlock = 192;

struct DepthBlock {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Blocks that cover [0, depth), all of kDepthBlock but the last.
inline std::vector<DepthBlock> depth_blocks(std::int64_t depth) {
  std::vector<DepthBlock> blocks;
  for (std::int64_t begin = 0; begin < depth; begin += kDepthBlock) {
    blocks.push_back({begin, std::min(kDepthBlock, depth - begin)});
  }
  return blocks;
}

}  // namespace unfuse::cpu
