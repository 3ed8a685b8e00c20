// What PyTorch makes of the arguments of resampling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace unfuse::ops {

/// Whether the outermost elements of image and result lie on each other.
bool aligns_corners(const Node& node);

/// The factor that says where the elements of the result lie, along spatial dim `i`. Empty where
/// the sizes say it: no factor is given, or corners are aligned, or PyTorch overlooks it, as for
/// linear interpolation to the same size, and for the nearest neighbour of small images where there
/// are one or two times as many (aten/src/ATen/native/UpSample.h: compute_source_index_and_lambda,
/// nearest_idx; antialiasing leaves out dims that keep their size). `from` and `to` are the spatial
/// sizes of image and result.
std::optional<double> resampling_factor(const Node& node, std::size_t i, std::span<const Dim> from,
                                        std::span<const Dim> to);

/// How many elements of the image lie between two of the result (area_pixel_compute_scale). Empty
/// where sizes say it and are symbolic.
std::optional<double> resampling_scale(const Node& node, std::size_t i, std::span<const Dim> from,
                                       std::span<const Dim> to);

}  // namespace unfuse::ops
