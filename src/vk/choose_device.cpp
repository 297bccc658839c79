#include <algorithm>
#include <cctype>
#include <optional>

#include "base/number.h"
#include "base/status.h"
#include "vk/device.h"

namespace skipstone::vk {
namespace {

int rank(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::discrete:
      return 4;
    case DeviceKind::integrated:
      return 3;
    case DeviceKind::virtual_gpu:
      return 2;
    case DeviceKind::other:
      return 1;
    case DeviceKind::cpu:
      return 0;
  }
  return 0;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string listed(const std::vector<Caps>& devices) {
  std::string text;
  for (const Caps& caps : devices)
    text += fmt::format("{}{} '{}' ({})", text.empty() ? "" : ", ", caps.index, caps.name, to_string(caps.kind));
  return text.empty() ? "none" : text;
}

ChosenDevice best_of(const std::vector<const Caps*>& usable) {
  const Caps* best = usable.front();
  bool several = false;
  for (const Caps* caps : usable) {
    if (rank(caps->kind) > rank(best->kind) || (rank(caps->kind) == rank(best->kind) && caps->device_bytes() > best->device_bytes()))
      best = caps;
  }
  for (const Caps* caps : usable) several = several || (caps != best && caps->kind == best->kind);
  std::string reason;
  if (usable.size() == 1) {
    reason = fmt::format("the only usable device, a {}", to_string(best->kind));
  } else {
    reason = fmt::format("{}{}", to_string(best->kind), several ? " with the most memory" : ", the best kind here");
  }
  return {best->index, reason};
}

}  // namespace

ChosenDevice choose_device(const std::vector<Caps>& devices, const std::function<std::string(std::uint32_t)>& unsuitable,
                           const std::string& wanted) {
  std::vector<const Caps*> usable;
  std::string reasons;
  for (const Caps& caps : devices) {
    const std::string reason = unsuitable(caps.index);
    if (reason.empty()) {
      usable.push_back(&caps);
    } else {
      reasons += fmt::format("{}{} '{}': {}", reasons.empty() ? "" : "; ", caps.index, caps.name, reason);
    }
  }

  if (wanted.empty()) {
    if (devices.empty()) {
      fail(Code::no_device,
           "there is no Vulkan 1.2 device: install a driver for your GPU, or mesa-vulkan-drivers (its lavapipe runs on any CPU)");
    }
    if (usable.empty()) fail(Code::no_device, "no Vulkan device here can run models: {}", reasons);
    return best_of(usable);
  }

  const auto usable_or_fail = [&](const Caps& caps) -> const Caps& {
    const std::string reason = unsuitable(caps.index);
    if (!reason.empty()) fail(Code::no_device, "Vulkan device {} '{}' cannot run models: {}", caps.index, caps.name, reason);
    return caps;
  };
  // A long number that is none of the list may still be a part of a name ("4090"); a short one is a mistake in counting.
  constexpr std::size_t longest_number = 2;
  const auto index = parse_number<std::uint32_t>(wanted);
  if (index) {
    for (const Caps& caps : devices) {
      if (caps.index == *index) return {usable_or_fail(caps).index, fmt::format("asked for by number {}", wanted)};
    }
  }
  std::vector<const Caps*> matches;
  for (const Caps& caps : devices) {
    if (index && wanted.size() <= longest_number) break;
    if (lower(caps.name).find(lower(wanted)) != std::string::npos) matches.push_back(&caps);
  }
  if (matches.empty()) fail(Code::not_found, "no Vulkan device matches '{}'; there are: {}", wanted, listed(devices));
  if (matches.size() > 1) {
    std::vector<Caps> several;
    several.reserve(matches.size());
    for (const Caps* caps : matches) several.push_back(*caps);
    fail(Code::not_found, "'{}' matches several Vulkan devices, choose one by its number: {}", wanted, listed(several));
  }
  return {usable_or_fail(*matches.front()).index, fmt::format("asked for by name '{}'", wanted)};
}

}  // namespace skipstone::vk
