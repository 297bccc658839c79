// kbench's workloads: one table row for each operation of kernels/operations.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/pass_builder.h"
#include "kernels/operations.h"
#include "model/config.h"
#include "model/weight_layout.h"
#include "selftest/matrix_check.h"

namespace kbench {

using skipstone::kernels::Dispatch;
using skipstone::kernels::Selector;

/// Sizes of the workloads, like those of one model layer.
struct Sizes {
  std::uint32_t n = 4096, k = 4096;  ///< of matrices
  std::uint32_t width = 4096, ffn = 11008, heads = 32, kv_heads = 8, head_dim = 128, vocabulary = 32000;
  std::uint32_t depth = 1024;  ///< tokens in the KV cache
  skipstone::KvFormats kv_format = skipstone::KvFormat::f16;
  std::uint32_t window = 0;                                        ///< sliding window: keys that a row attends to; 0: all
  float softcap = 0.0f;                                            ///< of attention's scores; 0: none
  std::uint32_t experts = 32, experts_used = 4, expert_ffn = 768;  ///< of all, of a row, activations of one
  double overlap = 0.5;                                            ///< the part of a row's experts that the row before it chose too
};

/// The model of a layer with attention, one with a short convolution, one with a gated delta net and experts, and a head for multi-token
/// prediction, whose buffers the kernels work on, and its sequence: room for the depth and the largest pass.
skipstone::model::Config config_of(const Sizes& sizes);
skipstone::exec::SequenceShape sequence_of(const Sizes& sizes);

struct Request {
  Sizes sizes;
  skipstone::gguf::Type format{};  ///< of operations on matrices
  std::uint32_t rows = 1;          ///< a bucket
  skipstone::vk::Tuning tuning;
};

/// One operation on one shape.
struct Workload {
  std::string shape;                  ///< "4096x4096"
  skipstone::kernels::Matrix matrix;  ///< n is 0 if there is none
  /// The dispatches of one round, on the copy of the matrix that is tensor `tensor`.
  std::function<std::vector<Dispatch>(std::uint32_t tensor)> round;
  double bytes = 0;                                       ///< minimum read and write traffic
  double flops = 0;                                       ///< multiplications and additions
  std::optional<skipstone::selftest::MatrixShape> check;  ///< the same kernel on fewer rows of the matrix, for the oracle
  /// Words that operands have instead of random ones.
  std::vector<std::pair<skipstone::kernels::Resource, std::vector<std::uint32_t>>> contents{};
};

inline constexpr std::uint32_t vector_tensor = 0;  ///< a norm's weights, or taps; large enough for all
inline constexpr std::uint32_t short_conv_kernel = 3, delta_net_kernel = 4;
inline constexpr std::uint32_t first_matrix = 1;
/// Input and output of matrix operations, in ResourceKind::scratch.
inline constexpr skipstone::kernels::Resource matrix_input{skipstone::kernels::ResourceKind::scratch, 0},
    matrix_output{skipstone::kernels::ResourceKind::scratch, 1};

struct Operation {
  std::string_view name;
  std::string_view cases;    ///< prefix of the self-test cases' names
  std::string_view summary;  ///< for --list
  bool has_formats;          ///< runs once for each weight format
  std::uint32_t most_rows;   ///< maximum per pass
  std::uint32_t least_rows;  ///< minimum per pass; tiled kernels need full tiles
  Workload (*make)(const Selector& select, const Request& request);
};

std::span<const Operation> operations();

/// The placement of copy `tensor` of a workload's matrix.
skipstone::model::TensorPlace place_of(skipstone::kernels::Matrix matrix, std::uint32_t tensor);

/// nullptr if no operation has that name.
const Operation* find_operation(std::string_view name);

}  // namespace kbench
