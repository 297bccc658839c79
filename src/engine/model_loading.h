// The steps of loading a model that all stages have in common: its file, its device, the math of its passes, its memory, its weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "exec/loaded_model.h"
#include "gguf/gguf.h"

namespace skipstone::engine {

/// The device that `options` name, or their host's, charged to their memory account. Throws as choose_device() does.
std::shared_ptr<vk::Device> open_device(const EngineOptions& options);
/// The file that `options` name, with the heads of a second one if they name one, or the shape of a synthetic model.
gguf::File open_model(const EngineOptions& options);

/// Resolves `wanted` on `device`. Throws unsupported with the reason if matrix units are requested and cannot be used.
kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library);

/// The context to use: `asked`, or the model's training context but at most 4096. Throws invalid_argument above 2^20.
std::uint32_t choose_context(const model::Config& config, std::uint32_t asked);

/// Throws invalid_argument for a context above 2^20, and for a cache whose blocks the model's heads do not divide into.
exec::SequenceShape choose_shape(const model::Config& config, std::uint32_t asked_context, const KvTypes& kv, KvFormat by_default);

MemoryPlan plan_memory(const model::Config& config, const model::WeightLayout& weights, const exec::SequenceShape& shape);

/// The number of leading layers whose experts are in host memory: `asked`, or the fewest for which `fits` says true; all if it never does.
/// Warns if a model without experts is asked for some.
std::uint32_t choose_experts_on_host(const model::WeightLayout& layout, std::optional<std::uint32_t> asked,
                                     const std::function<bool(std::uint32_t layers)>& fits);
/// Chooses them for a model on one device and puts them there, once the device's account has made room for the rest. Others leave before
/// experts do: these read more slowly as long as the model is loaded.
void keep_experts_on_host(model::WeightLayout& layout, std::optional<std::uint32_t> asked, const MemoryPlan& whole,
                          const vk::Device& device);
/// What the experts of the first `layers` layers take of `available` bytes of host memory, of which devices take `shared` bytes besides.
struct HostNeeds {
  std::uint32_t layers = 0;
  std::uint64_t experts = 0, shared = 0, available = 0;  ///< available: 0 if it is not known
};
/// Throws out_of_memory with the numbers where they do not fit.
void check_host_memory(const HostNeeds& needs);

/// Bytes that a plan may use of `device`, one of `sharers` in system memory.
std::uint64_t available_to(const vk::Device& device, std::uint32_t sharers);
/// The same if the other engines that share its account were gone.
std::uint64_t available_alone_to(const vk::Device& device, std::uint32_t sharers);
/// The part of one of `sharers` where the device has `device` bytes and the system, whose memory is also the device's on some, `system`; 0:
/// not known.
std::uint64_t share_of(const vk::Caps& caps, std::uint64_t device, std::uint64_t system, std::uint32_t sharers);

/// MiB, rounded up to a tenth: so much is enough.
double mib_up(std::uint64_t bytes);
/// "the memory limit is 6144.0 MiB", with what of it is left where that is less.
std::string limit_text(const vk::MemoryAccount& account);

/// Fills in the memory that is available now, once the device's account has made room, which it does for a model that then fits. Throws
/// out_of_memory with the numbers and the remedy if the plan does not fit there or exceeds the account's limit, unsupported if a single
/// buffer is larger than the device can bind.
void check_memory(MemoryPlan& plan, const model::Config& config, const exec::SequenceShape& shape, const vk::Device& device);

/// Repacks and uploads the weights of the local layers, random ones if the file has none; the file may be closed afterwards.
void load_weights(exec::LoadedModel& model, const gguf::File& file, const Progress& progress);

}  // namespace skipstone::engine
