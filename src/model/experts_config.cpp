// A model's experts: their sizes, and how its router chooses among them.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

/// The numbers of files for gating functions.
Gating read_gating(const Keys& keys, Gating fallback) {
  constexpr std::string_view name = "expert_gating_func";
  switch (keys.count(name, 0, 3, 0)) {
    case 1:
      return Gating::softmax;
    case 2:
      return Gating::sigmoid;
    case 3:
      return Gating::softmax_of_chosen;
    default:  // 0: not said
      return fallback;
  }
}

void read_groups(const Keys& keys, Experts& experts) {
  constexpr std::string_view all = "expert_group_count", used = "expert_group_used_count";
  experts.groups = std::max(1u, keys.count(all, 0, experts.count, 0));
  experts.groups_used = std::max(1u, keys.count(used, 0, experts.groups, 0));
  if (experts.groups == 1) return;
  if (experts.count % experts.groups != 0) {
    fail(Code::bad_file, "The {} experts do not divide among {} groups ('{}').", experts.count, experts.groups, keys.full(all));
  }
  const std::uint32_t in_group = experts.count / experts.groups;
  if (in_group < 2 || std::uint64_t{in_group} * experts.groups_used < experts.used) {
    fail(Code::bad_file, "{} of {} groups of {} experts ('{}', '{}') are too few to choose {} experts by their two best.",
         experts.groups_used, experts.groups, in_group, keys.full(used), keys.full(all), experts.used);
  }
}

void read_shared(const Keys& keys, Experts& experts) {
  constexpr std::string_view length = "expert_shared_feed_forward_length", count = "expert_shared_count";
  const std::uint32_t shared = keys.count(count, 0, most_heads, 0);
  if (keys.has(length)) {
    experts.shared_width = keys.count(length, 0, most_ffn);
  } else if (std::uint64_t{shared} * experts.width > most_ffn) {
    fail(Code::bad_file, "The key '{}' is {}: together, shared experts of {} are wider than {}.", keys.full(count), shared, experts.width,
         most_ffn);
  } else {
    experts.shared_width = shared * experts.width;
  }
}

}  // namespace

std::optional<Experts> read_experts(const Keys& keys, const Architecture& family) {
  if (!family.experts) return std::nullopt;
  Experts experts = *family.experts;
  experts.count = keys.count("expert_count", 0, most_experts, 0);
  if (experts.count == 0) return std::nullopt;
  experts.used = keys.count("expert_used_count", 1, std::min(experts.count, most_experts_used));
  constexpr std::string_view length = "expert_feed_forward_length";
  experts.width = keys.count(keys.has(length) ? length : "feed_forward_length", 1, most_ffn);
  experts.latent = keys.count("moe_latent_size", 0, most_width, 0);
  experts.gating = read_gating(keys, experts.gating);
  // A family of softmaxes and corrections has these where its files choose sigmoids.
  if (experts.gating == Gating::softmax && family.experts->gating == Gating::softmax) experts.corrected = false;
  experts.renormalised = keys.file().boolean(keys.full("expert_weights_norm"), experts.renormalised);
  if (const float scale = keys.not_negative("expert_weights_scale"); scale > 0.0f) experts.scale = scale;
  read_groups(keys, experts);
  read_shared(keys, experts);
  check_length("experts' feed-forward length", experts.width);
  check_length("shared expert's feed-forward length", experts.shared_width);
  check_length("experts' latent length", experts.latent);
  return experts;
}

}  // namespace skipstone::model
