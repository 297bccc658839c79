// Where keys and values lie: the buffers of the layers that one device has. Which page is whose, KvPool says.
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

/// The pages of some layers, here or on another device. A page has the same number everywhere.
class KvStore {
 public:
  virtual ~KvStore() = default;
  /// Room for `pages` pages, no fewer than there are; those keep what they hold. Throws out_of_memory; then it stays as it was.
  virtual void resize(std::uint32_t pages) = 0;
  /// What page `from` holds stands in page `to` too.
  virtual void copy(std::uint32_t from, std::uint32_t to) = 0;
};

/// One buffer for K and one for V of each layer, [KV head][slots] as shaders/lib/kv_read.glsl has them. A page is KV_PAGE slots of every
/// layer. From any thread.
class KvBuffers : public KvStore {
 public:
  /// Of the layers `layers`, ascending. Throws out_of_memory.
  KvBuffers(std::shared_ptr<vk::Device> device, const kernels::AttentionShape& shape, std::vector<std::uint32_t> layers,
            std::uint32_t pages);

  /// While it is held the buffers stay what they are: from looking at what follows to the end of a submission.
  std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex_); }
  std::uint32_t slots() const { return slots_; }
  /// `kind`: k_cache or v_cache; `layer`: one of those above.
  vk::Slice slice(kernels::ResourceKind kind, std::uint32_t layer) const;
  /// Changes with the buffers: recordings that name older ones are of no use.
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
  kernels::AttentionShape shape_;  ///< its slots change
  std::vector<std::uint32_t> layers_;
  mutable std::shared_mutex mutex_;
  Buffers buffers_;
  std::uint32_t slots_ = 0;
  std::uint64_t generation_ = 0;
};

/// The layers of [begin, end) that see the whole text, or those with a window.
std::vector<std::uint32_t> layers_of(const model::Config& config, std::uint32_t context, bool windowed, std::uint32_t begin,
                                     std::uint32_t end);

/// Keys and values of the layers [begin, end) of a model, by what layers see. From any thread.
class CacheBuffers {
 public:
  /// Pages at first. Throws out_of_memory.
  struct Pages {
    std::uint32_t whole = 0, windowed = 0;
  };
  CacheBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const kernels::AttentionShape& shape,
               std::uint32_t begin, std::uint32_t end, const Pages& pages);

  KvBuffers& whole() { return whole_; }
  KvBuffers& windowed() { return windowed_; }
  bool is_windowed(std::uint32_t layer) const { return config_.has_window(layer, context_); }
  const KvBuffers& of_layer(std::uint32_t layer) const { return is_windowed(layer) ? windowed_ : whole_; }

  using Hold = std::pair<std::shared_lock<std::shared_mutex>, std::shared_lock<std::shared_mutex>>;
  /// As KvBuffers'.
  Hold hold() const { return {whole_.hold(), windowed_.hold()}; }
  std::uint64_t generation() const { return whole_.generation() + windowed_.generation(); }

 private:
  const model::Config& config_;
  std::uint32_t context_;
  KvBuffers whole_, windowed_;
};

}  // namespace skipstone::exec
