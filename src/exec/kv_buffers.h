// Buffers for the keys and values of the layers on one device. KvPool decides which sequence has which page.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/operations.h"
#include "model/config.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::exec {

using kernels::pages_for;

/// The pages of some layers, local or remote. A page has the same number on every device.
class KvStore {
 public:
  virtual ~KvStore() = default;
  /// Makes room for `pages` pages, no fewer than there are; those keep their contents. Throws out_of_memory and then changes nothing.
  virtual void resize(std::uint32_t pages) = 0;
  /// Copies the contents of page `from` to page `to`.
  virtual void copy(std::uint32_t from, std::uint32_t to) = 0;
};

/// One buffer for K and one for V of each layer, [KV head][slots] as in shaders/lib/kv_read.glsl. A page is KV_PAGE slots of every layer.
/// Thread-safe.
class KvBuffers : public KvStore {
 public:
  /// Allocates the buffers of the layers `layers`, ascending. Throws out_of_memory.
  KvBuffers(std::shared_ptr<vk::Device> device, const kernels::AttentionShape& shape, std::vector<std::uint32_t> layers,
            std::uint32_t pages);

  /// While the lock is held the buffers do not change: hold it from reading the values below to the end of a submission.
  std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex_); }
  std::uint32_t slots() const { return slots_; }
  /// `kind`: k_cache or v_cache; `layer`: one of those above.
  vk::Slice slice(kernels::ResourceKind kind, std::uint32_t layer) const;
  /// Changes with the buffers: recordings that name older ones are invalid.
  std::uint64_t generation() const { return generation_; }

  void resize(std::uint32_t pages) override;
  void copy(std::uint32_t from, std::uint32_t to) override;

 private:
  struct Buffers {
    std::unique_ptr<vk::Arena> arena;
    std::vector<vk::Slice> slices;  ///< K, V of the first layer, K, V of the next one, ...
  };
  Buffers allocate(std::uint32_t pages) const;

  std::shared_ptr<vk::Device> device_;
  kernels::AttentionShape shape_;  ///< its slots change with resize()
  std::vector<std::uint32_t> layers_;
  mutable std::shared_mutex mutex_;
  Buffers buffers_;
  std::uint32_t slots_ = 0;
  std::uint64_t generation_ = 0;
};

/// The full layers of [begin, end), or the sliding-window layers.
std::vector<std::uint32_t> layers_of(const model::Config& config, std::uint32_t context, bool sliding, std::uint32_t begin,
                                     std::uint32_t end);

/// Keys and values of the layers [begin, end) of a model, full and sliding-window layers apart. Thread-safe.
class CacheBuffers {
 public:
  /// Initial numbers of pages. Throws out_of_memory.
  struct Pages {
    std::uint32_t full = 0, sliding = 0;
  };
  CacheBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const kernels::AttentionShape& shape,
               std::uint32_t begin, std::uint32_t end, const Pages& pages);

  KvBuffers& full() { return full_; }
  KvBuffers& sliding() { return sliding_; }
  bool is_sliding(std::uint32_t layer) const { return config_.has_window(layer, context_); }
  const KvBuffers& of_layer(std::uint32_t layer) const { return is_sliding(layer) ? sliding_ : full_; }

  using Hold = std::pair<std::shared_lock<std::shared_mutex>, std::shared_lock<std::shared_mutex>>;
  /// As KvBuffers::hold().
  Hold hold() const { return {full_.hold(), sliding_.hold()}; }
  std::uint64_t generation() const { return full_.generation() + sliding_.generation(); }

 private:
  const model::Config& config_;
  std::uint32_t context_;
  KvBuffers full_, sliding_;
};

}  // namespace skipstone::exec
