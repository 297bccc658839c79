// Planning a model's memory before anything is allocated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/log.h"
#include "base/platform/system.h"
#include "base/status.h"
#include "engine/model_loading.h"
#include "exec/pass_buffers.h"
#include "gguf/gguf.h"

namespace skipstone::engine {
namespace {

constexpr double mib = 1024.0 * 1024.0;

/// What a plan takes of a memory limit.
std::uint64_t limited(std::uint64_t total) { return total + MemoryPlan::working_memory(total); }

KvFormat choose_kv_format(const model::Config& config, KvType asked, KvFormat by_default) {
  if (asked == KvType::automatic) return by_default;
  const KvFormat format = kv_type_formats.at(static_cast<std::size_t>(asked) - 1);
  config.for_each_attention([&](const model::Attention& attention) {
    if (!traits(format).has_blocks() || attention.head_dim % kv_block == 0) return;
    fail(Code::invalid_argument, "a {} KV cache has blocks of {} dimensions, and this model's heads have {}; take --kv f16",
         to_string(format), kv_block, attention.head_dim);
  });
  return format;
}

}  // namespace

std::uint32_t choose_context(const model::Config& config, std::uint32_t asked) {
  constexpr std::uint32_t most = 1u << 20, usual = 4096;
  if (asked > most)
    fail(Code::invalid_argument, "a context of {} tokens is more than the {} that are possible; ask for less with --ctx", asked, most);
  if (asked != 0) return asked;
  return config.context_trained == 0 ? usual : std::min(config.context_trained, usual);
}

exec::SequenceShape choose_shape(const model::Config& config, std::uint32_t asked_context, const KvTypes& kv, KvFormat by_default) {
  exec::SequenceShape shape;
  shape.context = choose_context(config, asked_context);
  shape.kv_format = {choose_kv_format(config, kv.k, by_default), choose_kv_format(config, kv.v, by_default)};
  shape.chunk = exec::SequenceShape::chunk_for(config, shape.context);
  return shape;
}

MemoryPlan plan_memory(const model::Config& config, const model::WeightLayout& weights, const exec::SequenceShape& shape) {
  const exec::SequenceBytes sequence = exec::plan_bytes(config, shape);
  MemoryPlan plan;
  plan.host_weights = weights.host_bytes();
  plan.weights = weights.bytes() - plan.host_weights;
  plan.experts_on_host = weights.experts_on_host;
  for (std::uint32_t layer = plan.experts_on_host; layer < weights.layer_count(); ++layer) plan.experts += weights.expert_bytes(layer);
  plan.kv = sequence.kv;
  plan.activations = sequence.activations;
  plan.kv_without_windows = sequence.kv_without_windows;
  for (const exec::MemoryKind kind : exec::memory_kinds) {
    std::uint64_t position = 0;
    for (const kernels::KvLayout& buffer : exec::layer_buffers(kind, config, shape)) position += buffer.position_bytes();
    for (const std::uint32_t layer : exec::layers_of(kind, config, shape)) {
      const std::uint32_t seen = kind == exec::MemoryKind::full      ? exec::initial_pages(kind, config, shape) * KV_PAGE
                                 : kind == exec::MemoryKind::sliding ? std::min(config.window(layer), shape.context)
                                 : kind == exec::MemoryKind::states  ? std::uint32_t{KV_PAGE}
                                                                     : exec::recurrent_shape(config).window;
      plan.kv_read += position * seen;
    }
  }
  plan.context = shape.context;
  plan.kv_format = shape.kv_format;
  plan.host_available = platform::free_memory();
  return plan;
}

MemoryPlan plan_memory(const gguf::File& file, const model::Config& config, std::uint32_t context, const KvTypes& kv) {
  // Without a device, one binding is assumed to cover any tensor; no total depends on it.
  const model::WeightLayout layout =
      model::layout_weights(config, model::find_tensors(file, config), std::numeric_limits<std::uint64_t>::max(), 1);
  return plan_memory(config, layout, choose_shape(config, context, kv, KvFormat::f16));
}

std::uint64_t share_of(const vk::Caps& caps, std::uint64_t device, std::uint64_t system, std::uint32_t sharers) {
  return caps.shares_system_memory() && system > 0 ? std::min(device, system) / std::max(sharers, 1u) : device;
}

std::uint64_t available_to(const vk::Device& device, std::uint32_t sharers) {
  return std::min(share_of(device.caps(), device.memory_available(), platform::free_memory(), sharers), device.memory_account().left());
}

std::uint64_t available_alone_to(const vk::Device& device, std::uint32_t sharers) {
  const std::uint64_t system = platform::free_memory(), system_alone = system > 0 ? system + device.memory_of_others() : 0;
  return std::min(share_of(device.caps(), device.memory_available_alone(), system_alone, sharers),
                  device.memory_account().left_beside(device.memory_allocated()));
}

double mib_up(std::uint64_t bytes) { return std::ceil(static_cast<double>(bytes) / mib * 10) / 10; }

std::string limit_text(const vk::MemoryAccount& account) {
  const std::uint64_t limit = account.limit(), left = account.left();
  const std::string text = fmt::format("the memory limit is {:.1f} MiB", static_cast<double>(limit) / mib);
  return left == limit ? text : fmt::format("{}, of which {:.1f} MiB are left", text, static_cast<double>(left) / mib);
}

namespace {

// With the working memory, also where no limit is set: what just fits leaves nothing else free.
bool fits_alone(std::uint64_t total, const vk::Device& device) { return limited(total) <= available_alone_to(device, 1); }
bool fits_now(std::uint64_t total, const vk::Device& device) { return limited(total) <= available_to(device, 1); }

/// Whether `total` bytes fit the device, once others of its account have left where that helps.
bool make_room_for(std::uint64_t total, const vk::Device& device) {
  while (!fits_now(total, device) && fits_alone(total, device) && device.memory_account().make_room(limited(total))) {
  }
  return fits_now(total, device);
}

}  // namespace

std::uint32_t choose_experts_on_host(const model::WeightLayout& layout, std::optional<std::uint32_t> asked,
                                     const std::function<bool(std::uint32_t)>& fits) {
  const std::uint32_t all = layout.leading_experts();
  if (asked.value_or(0) > 0 && all == 0)
    log::warning("the model has no experts, so none are kept in host memory (--experts-on-host {})", *asked);
  if (asked) return std::min(*asked, all);
  std::uint32_t layers = 0;
  while (layers < all && !fits(layers)) ++layers;
  return layers;
}

void keep_experts_on_host(model::WeightLayout& layout, std::optional<std::uint32_t> asked, const MemoryPlan& whole,
                          const vk::Device& device) {
  const auto total_with = [&](std::uint32_t layers) {
    std::uint64_t total = whole.total();
    for (std::uint32_t layer = 0; layer < layers; ++layer) total -= layout.expert_bytes(layer);
    return total;
  };
  const auto choose = [&](bool (*fits)(std::uint64_t, const vk::Device&)) {
    return choose_experts_on_host(layout, asked, [&](std::uint32_t layers) { return fits(total_with(layers), device); });
  };
  std::uint32_t layers = choose(fits_alone);
  if (!asked && layout.leading_experts() > 0 && !make_room_for(total_with(layers), device)) layers = choose(fits_now);
  layout.keep_experts_on_host(layers);
}

void check_host_memory(const HostNeeds& needs) {
  if (needs.experts == 0 || needs.available == 0 || limited(needs.experts) + needs.shared <= needs.available) return;
  const std::string experts = fmt::format("the experts of the first {} layers need {:.1f} MiB of host memory", needs.layers,
                                          mib_up(needs.experts)),
                    free = fmt::format("{:.0f} MiB are free", static_cast<double>(needs.available) / mib),
                    smaller = "a smaller or more strongly quantised model";
  if (needs.shared == 0) {
    fail(Code::out_of_memory, "{}, but {}; keep fewer layers' experts there if the device has room (--experts-on-host), or take {}",
         experts, free, smaller);
  }
  fail(Code::out_of_memory, "{} beside the {:.1f} MiB that the device takes of it, but {}; take a smaller context (--ctx), or {}", experts,
       mib_up(needs.shared), free, smaller);
}

void check_memory(MemoryPlan& plan, const model::Config& config, const exec::SequenceShape& shape, const vk::Device& device) {
  const vk::Caps& caps = device.caps();
  const vk::MemoryAccount& account = device.memory_account();
  const std::uint64_t largest = exec::plan_bytes(config, shape).largest_buffer;
  if (largest > caps.max_storage_range) {
    fail(Code::unsupported,
         "a context of {} tokens needs a buffer of {:.0f} MiB, but {} binds at most {:.0f} MiB at once; ask for a smaller context with "
         "--ctx",
         shape.context, static_cast<double>(largest) / mib, caps.name, static_cast<double>(caps.max_storage_range) / mib);
  }
  make_room_for(plan.total(), device);
  plan.device_available = device.memory_available();
  plan.host_available = platform::free_memory();
  const auto needs = [&](std::uint64_t bytes, const std::string& more) {
    const std::string experts =
        plan.host_weights == 0 ? ""
                               : fmt::format(" beside the experts of the first {} layers, which stay in host memory", plan.experts_on_host);
    return fmt::format("the model needs {:.1f} MiB ({:.1f} weights, {:.1f} KV cache for a context of {}, {:.1f} activations{}){}",
                       mib_up(bytes), static_cast<double>(plan.weights) / mib, static_cast<double>(plan.kv) / mib, plan.context,
                       static_cast<double>(plan.activations) / mib, more, experts);
  };
  if (limited(plan.total()) > account.left()) {
    fail(Code::out_of_memory,
         "{}, but {}; raise the limit, or take a smaller context (--ctx), or a smaller or more strongly quantised model",
         needs(limited(plan.total()), fmt::format(", {:.1f} working memory", static_cast<double>(plan.working()) / mib)),
         limit_text(account));
  }
  if (const std::uint64_t free = share_of(caps, plan.device_available, plan.host_available, 1); plan.total() > free) {
    fail(Code::out_of_memory,
         "{}, but {} has {:.0f} MiB free; take a smaller context (--ctx), a smaller or more strongly quantised model, or another device "
         "(--device)",
         needs(plan.total(), ""), caps.name, static_cast<double>(free) / mib);
  }
  check_host_memory({.layers = plan.experts_on_host,
                     .experts = plan.host_weights,
                     .shared = caps.shares_system_memory() ? plan.total() : 0,
                     .available = std::min(plan.host_available, device.host_memory_available().value_or(plan.host_available))});
}

}  // namespace skipstone::engine
