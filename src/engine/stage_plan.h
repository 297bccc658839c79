// Which of a model's layers lie on which device: pure arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/pass_builder.h"
#include "model/weight_layout.h"

namespace skipstone::engine {

/// A device of `--devices`, with its number of layers; 0: by free memory.
struct StageWish {
  std::string device;
  std::uint32_t layers = 0;
};

/// Reads "0,1" or "0:20,1:12"; names work as numbers do. Throws invalid_argument for an empty part, a device twice, a number of layers that
/// is none, or numbers for some of the devices alone. `same_device`: one may be named twice, for tests.
std::vector<StageWish> parse_devices(std::string_view text, bool same_device);

/// Whether `devices` is "mpi" or "mpi:...".
bool names_ranks(std::string_view devices);
/// Reads "mpi" or "mpi:20,12", so many layers of each rank. `device`: of the first. Throws invalid_argument for numbers that are none, or
/// not one for each rank.
std::vector<StageWish> parse_ranks(std::string_view devices, std::uint32_t ranks, const std::string& device);

/// Bytes that the parts of a model take.
struct StageNeeds {
  std::vector<std::uint64_t> layers;    ///< by layer: weights, keys and values
  std::uint64_t head = 0;               ///< embedding, last norm and output: of the first stage
  std::uint64_t first_activations = 0;  ///< what passes work in, on the first stage
  std::uint64_t later_activations = 0;  ///< and on each of the others
  std::uint64_t of(std::uint32_t begin, std::uint32_t end) const;
};
StageNeeds stage_needs(const model::Config& config, const model::WeightLayout& layout, const exec::SequenceShape& shape);

/// A device as planning sees it.
struct StageDevice {
  std::string place;            ///< "device 1 (NVIDIA ...)", "rank 1 (...)": for messages
  std::uint64_t available = 0;  ///< bytes
  std::uint32_t layers = 0;     ///< that are wished for; 0: by memory
};

/// Where each stage's layers end, the last at the model's. By memory: such that the fullest device is as empty as can be, with one layer
/// each at least. Throws invalid_argument where wishes are not the model's layers or there are more devices than layers, out_of_memory with
/// the numbers of each device where the plan does not fit.
std::vector<std::uint32_t> plan_stages(const StageNeeds& needs, std::span<const StageDevice> devices);

}  // namespace skipstone::engine
