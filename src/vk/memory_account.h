// A limit of device memory that several devices share, and the way to memory that some of them can do without.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace skipstone::vk {

/// Thread-safe.
class MemoryAccount {
 public:
  /// Frees memory of the account's devices, for `bytes` more. False if it has freed none. Called on the thread that needs the memory.
  using MakeRoom = std::function<bool(std::uint64_t bytes)>;

  /// Caps::device_uuid: engines have Devices of their own for one physical device.
  using DeviceId = std::array<std::uint8_t, 16>;

  /// `limit`: bytes that all devices of the account together never pass; 0: none.
  explicit MemoryAccount(std::uint64_t limit, MakeRoom make_room = {});

  std::uint64_t limit() const { return limit_; }
  std::uint64_t held() const;
  std::uint64_t held_on(const DeviceId& device) const;
  /// Bytes that the limit leaves.
  std::uint64_t left() const { return left_beside(held()); }
  /// The same if `held` bytes were all that is held.
  std::uint64_t left_beside(std::uint64_t held) const;
  /// False, with nothing changed, if `bytes` more would pass the limit.
  bool take(const DeviceId& device, std::uint64_t bytes);
  void give_back(const DeviceId& device, std::uint64_t bytes);
  /// Whether memory was freed for `bytes` more. Never true for more than the limit.
  bool make_room(std::uint64_t bytes) const;

 private:
  const std::uint64_t limit_;
  const MakeRoom make_room_;
  mutable std::mutex mutex_;
  std::uint64_t held_ = 0;
  std::map<DeviceId, std::uint64_t> held_on_;  ///< adds up to held_
};

}  // namespace skipstone::vk
