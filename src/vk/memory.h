// Memory of a device by role: a few large blocks each, handed out front to back, given back all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace skipstone::vk {

class Device;
struct Block;  // a VkBuffer bound to its memory

enum class Role {
  weights,       ///< device local; host visible too where the device has such memory (then `mapped` is set)
  host_weights,  ///< host visible and not device local unless all memory is: the device reads it there, no limit of device memory counts it
  kv,            ///< device local
  activations,   ///< device local
  state,         ///< host visible and coherent, device local if such memory exists: small, written by the host each round; may hold
                 ///< conditions
  staging,       ///< host visible, for uploads
  readback,      ///< host visible and cached
};

/// A range of a block. Copyable, cheap; valid as long as its Arena lives.
struct Slice {
  Block* block = nullptr;
  std::uint64_t offset = 0;  ///< within the block's buffer, aligned for binding
  std::uint64_t bytes = 0;
  std::byte* mapped = nullptr;  ///< the host's view of the slice, or null
  explicit operator bool() const { return block != nullptr; }
  /// A part of the slice; `at` must keep the device's storage alignment where the part is bound.
  Slice part(std::uint64_t at, std::uint64_t length) const;
};

/// What an allocation may do where memory is short.
enum class Shortage {
  makes_room,  ///< asks the device's account to free memory of others (MemoryAccount::make_room)
  fails,
};

class Arena {
 public:
  /// `block_bytes`: size of a new block where a request does not ask for more (default by role). Memory is zeroed.
  Arena(std::shared_ptr<Device> device, Role role, std::uint64_t block_bytes = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Throws out_of_memory with the numbers (asked, held, heap). Never returns an empty slice for bytes > 0.
  Slice allocate(std::uint64_t bytes, Shortage shortage = Shortage::makes_room);
  std::uint64_t allocated() const;  ///< bytes held

 private:
  std::shared_ptr<Device> device_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skipstone::vk
