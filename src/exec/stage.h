// Layers on a device other than the first one: executes stage commands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "exec/link.h"
#include "exec/pass_runner.h"
#include "exec/pipelines.h"

namespace skipstone::exec {

/// Used by one thread at a time.
class Stage {
 public:
  /// Has the layers that `shape` names. Throws out_of_memory.
  Stage(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
        const model::Weights& weights, const SequenceShape& shape);

  /// Creates the missing pipelines of `passes`, and runs one workgroup of each (PassRunner::warm_up). `moves`: those of PassRunner::move
  /// too.
  void prepare(std::span<const PassSpec> passes, bool moves);
  /// Executes the command of `message`, which becomes the message to forward. Throws if the command fails.
  void take(StageMessage& message);

 private:
  void pass(StageMessage& message);
  void move(const StageMessage& message);
  void copy_kv(StageMessage& message);
  PassRunner& runner(std::uint32_t number);

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  KvBuffers cache_;
  std::set<PipelineKey> ready_;
  std::map<std::uint32_t, std::unique_ptr<PassRunner>> runners_;
};

}  // namespace skipstone::exec
