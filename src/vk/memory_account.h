// A limit of device memory that several devices share, and the way to memory that some of them can do without.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace skipstone::vk {

/// Thread-safe.
class MemoryAccount {
 public:
  /// Frees memory of the account's devices, for `bytes` more. False if it has freed none. Called on the thread that needs the memory.
  using MakeRoom = std::function<bool(std::uint64_t bytes)>;

  /// `limit`: bytes that all devices of the account together never pass; 0: none.
  explicit MemoryAccount(std::uint64_t limit, MakeRoom make_room = {});

  std::uint64_t limit() const { return limit_; }
  std::uint64_t held() const { return held_; }
  /// Bytes that the limit leaves.
  std::uint64_t left() const;
  /// False, with nothing changed, if `bytes` more would pass the limit.
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { held_ -= bytes; }
  /// Whether memory was freed for `bytes` more. Never true for more than the limit.
  bool make_room(std::uint64_t bytes) const;

 private:
  const std::uint64_t limit_;
  const MakeRoom make_room_;
  std::atomic<std::uint64_t> held_{0};
};

}  // namespace skipstone::vk
