// Buffers for the keys and values of the layers on one device. KvPool decides which sequence has which page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "exec/memory_kind.h"
#include "kernels/dispatch.h"
#include "kernels/operations.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::exec {

using kernels::pages_for;

/// The contents of the pages of some layers, local or remote. A page of a kind has the same number on every device.
class PageStore {
 public:
  virtual ~PageStore() = default;
  /// Allocates memory for `pages` pages of a kind, no fewer than there are; those keep their contents. Throws out_of_memory and then
  /// changes nothing.
  virtual void resize(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) = 0;
  /// Copies the contents of page `from` to page `to`.
  virtual void copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) = 0;
};

/// The pages of one kind of a sequence, in the order of its text.
struct PageList {
  std::span<const std::uint32_t> pages;  ///< 0 in place of a released one
  std::uint32_t released = 0;            ///< number of leading pages that were released
};
using PageLists = ByKind<PageList>;

/// The buffers that each layer of a kind has, without their slots: K and V, records, or states. A record, and of a state the part for a
/// slot, are laid out as the K of one head in 32-bit floats.
std::vector<kernels::KvLayout> layer_buffers(MemoryKind kind, const model::Config& config, const SequenceShape& shape);

/// Bytes of KvBuffers when they are created.
struct KvPlan {
  std::uint64_t bytes = 0;
  std::uint64_t bytes_without_windows = 0;  ///< `bytes`, if no layer had a sliding window
  std::uint64_t largest_buffer = 0;
};
KvPlan plan_kv(const model::Config& config, const SequenceShape& shape);

/// One buffer for K and one for V of each layer, [KV head][slots] as in shaders/lib/kv_read.glsl (with latents that of K alone); of
/// recurrent layers one for records; of heads for multi-token prediction, whose numbers follow those of the layers, all three. A page is
/// KV_PAGE slots of every layer of its kind. Thread-safe.
class KvBuffers : public PageStore {
 public:
  /// Allocates the buffers of the local layers, with room for the initial positions of each kind. Throws out_of_memory.
  KvBuffers(std::shared_ptr<vk::Device> device, const model::Config& config, const SequenceShape& shape);

  /// While the lock is held the buffers do not change: hold it from reading the values below to the end of a submission.
  std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex_); }
  /// Positions that the buffers have room for.
  const ByKind<std::uint32_t>& slots() const { return slots_; }
  /// `kind`: k_cache, v_cache, records or states, whatever the layer has; `layer`: a local one.
  vk::Slice slice(kernels::ResourceKind kind, std::uint32_t layer) const;
  /// Changes with the buffers: recordings that name older ones are invalid.
  std::uint64_t generation() const { return generation_; }
  /// The kinds of any layer of the model, or head, that have positions.
  const std::vector<MemoryKind>& kinds_of(std::uint32_t layer) const { return kinds_.at(layer); }
  /// Bytes of `positions` positions of any layer of the model without the pages `released` of each kind: K, then V; for each KV head the
  /// vectors and then, of quantised ones, their scales. Then the records.
  std::uint64_t layer_bytes(std::uint32_t layer, std::uint32_t positions, const ByKind<std::uint32_t>& released) const;

  /// Bytes of a state of any layer of the model; 0 of layers without.
  std::uint64_t state_bytes(std::uint32_t layer) const { return state_bytes_.at(layer); }

  void resize(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) override;
  void copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) override;

 private:
  friend class KvBytes;
  struct Buffers {
    std::vector<std::unique_ptr<vk::Arena>> arenas;  ///< in the order of a layer's buffers
    std::vector<vk::Slice> slices;                   ///< of the first layer of the kind, of the next one, ...
  };
  Buffers allocate(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) const;
  /// `part`: of the buffers that a layer of the kind has.
  kernels::KvLayout layout(MemoryKind kind, std::size_t part, std::uint32_t slots) const;

  std::shared_ptr<vk::Device> device_;
  ByKind<std::vector<kernels::KvLayout>> layouts_;  ///< layer_buffers()
  std::vector<std::vector<MemoryKind>> kinds_;      ///< by layer of the model, then heads
  std::vector<std::uint64_t> state_bytes_;          ///< likewise
  ByKind<std::vector<std::uint32_t>> layers_;
  mutable std::shared_mutex mutex_;
  ByKind<Buffers> buffers_;
  ByKind<std::uint32_t> slots_;
  std::uint64_t generation_ = 0;
};

/// Keys and values of the first positions of a sequence as bytes on the host, bit by bit: the contents of conversation files. Released
/// pages are left out. Of a recurrent layer with states one of them follows its records. Not while the sequence runs a pass.
class KvBytes {
 public:
  /// Of `positions` positions in the pages `pages`; of states the slot that their list has, if it has one alone.
  KvBytes(const KvBuffers& buffers, const PageLists& pages, std::uint32_t positions);
  std::uint64_t layer_bytes(std::uint32_t layer) const {
    const auto released = by_kind([&](MemoryKind kind) { return pages_[kind].released; });
    return buffers_.layer_bytes(layer, positions_, released) + (has_state() ? buffers_.state_bytes(layer) : 0);
  }
  void read(std::uint32_t layer, std::span<std::byte> to);
  /// The pages are not shared (PageTable::reserve).
  void write(std::uint32_t layer, std::span<const std::byte> from);

 private:
  /// Calls `visit(slice)` for each run of contiguous bytes, in order.
  template <typename Visit>
  void for_each_run(std::uint32_t layer, const Visit& visit) const;
  template <typename Visit>
  void for_each_run(MemoryKind kind, std::uint32_t layer, const Visit& visit) const;
  bool has_state() const { return pages_[MemoryKind::states].pages.size() == 1; }

  const KvBuffers& buffers_;
  PageLists pages_;
  std::uint32_t positions_;
  vk::Uploader uploader_;
};

}  // namespace skipstone::exec
