// Distribution of a model's layers to devices: pure arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/pass_builder.h"
#include "model/weight_layout.h"
#include "vk/memory_account.h"

namespace skipstone::engine {

/// A device of `--devices`, with its number of layers; 0: by free memory.
struct StageWish {
  std::string device;
  std::uint32_t layers = 0;
};

/// Reads "0,1" or "0:20,1:12"; names work as numbers do. Throws invalid_argument for an empty part, a device twice, an invalid number of
/// layers, or numbers for only some of the devices. `same_device`: a device may be named twice, for tests.
std::vector<StageWish> parse_devices(std::string_view text, bool same_device);

/// Whether `devices` is "mpi" or "mpi:...".
bool names_ranks(std::string_view devices);
/// Reads "mpi" or "mpi:20,12", the number of layers of each rank. `device`: of the first rank. Throws invalid_argument for invalid numbers,
/// or if there is not one for each rank.
std::vector<StageWish> parse_ranks(std::string_view devices, std::uint32_t ranks, const std::string& device);

/// Memory of the parts of a model, in bytes.
struct StageNeeds {
  std::vector<std::uint64_t> layers;        ///< by layer: weights, keys and values
  std::vector<std::uint64_t> experts = {};  ///< of these, stacks of experts; without any: empty
  std::uint64_t head = 0;                   ///< embedding, last norm and output: of the first stage
  std::uint64_t first_activations = 0;      ///< buffers of passes on the first stage
  std::uint64_t later_activations = 0;      ///< the same on each later stage
  std::uint64_t of(std::uint32_t begin, std::uint32_t end) const;
  /// Those of the same model with the experts of its first `count` layers in host memory.
  StageNeeds with_experts_on_host(std::uint32_t count) const;
};
StageNeeds stage_needs(const model::Config& config, const model::WeightLayout& layout, const exec::SequenceShape& shape);

/// A device as input of planning.
struct StageDevice {
  std::string place;            ///< "device 1 (NVIDIA ...)", "rank 1 (...)": for messages
  std::uint64_t available = 0;  ///< bytes
  std::uint32_t layers = 0;     ///< requested layers; 0: by memory
  bool of_system = false;       ///< its memory is that of the system of the process that has it
};

/// The end of each stage's layers; the last is the model's. By memory: minimizes the share of memory used on the fullest device, with at
/// least one layer each. Throws invalid_argument if the requested layers do not add up to the model's or there are more devices than
/// layers, out_of_memory with the numbers of each device if the plan does not fit.
std::vector<std::uint32_t> plan_stages(const StageNeeds& needs, std::span<const StageDevice> devices);

/// The account that stages are charged to.
struct StageAccount {
  const vk::MemoryAccount& account;
  bool of_all = true;  ///< of all stages; false: of the first one alone, as the others are in other processes
};

/// The same for the devices as they are now, once the account has made room, which it does for a plan that then fits. `devices`: with what
/// is available now, or would be to an engine that is `alone`. Throws out_of_memory also where the stages do not fit the account's limit
/// together.
std::vector<std::uint32_t> plan_with_room(const StageNeeds& needs, const StageAccount& account,
                                          const std::function<std::vector<StageDevice>(bool alone)>& devices);

struct StagePlan {
  std::vector<std::uint32_t> ends;    ///< of plan_stages()
  std::uint32_t experts_on_host = 0;  ///< leading layers of the model whose experts are in host memory
};
/// The same with experts in host memory as choose_experts_on_host() has them. Throws out_of_memory also where this process's system has no
/// memory for those of `account.of_all`; other processes check their own.
StagePlan plan_with_experts(const StageNeeds& needs, const model::WeightLayout& layout, std::optional<std::uint32_t> asked,
                            const StageAccount& account, const std::function<std::vector<StageDevice>(bool alone)>& devices);

}  // namespace skipstone::engine
