// Layers on a device other than the first one: executes stage commands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "exec/link.h"
#include "exec/local_runner.h"
#include "exec/pipelines.h"

namespace skipstone::exec {

/// Used by one thread at a time.
class Stage {
 public:
  /// Has the layers of `model`, which outlives it. Throws out_of_memory.
  explicit Stage(const LoadedModel& model);

  /// Creates the missing pipelines of `users`, and runs one workgroup of each with the first page of `pages` (LocalRunner::warm_up).
  void prepare(const PipelineUsers& users, const PageLists& pages);
  /// The same before there is any text, in the first page of each kind.
  void prepare(const PipelineUsers& users);
  /// Executes the command of `message`, which becomes the message to forward. Throws if the command fails.
  void take(StageMessage& message);

 private:
  void pass(StageMessage& message);
  void move(const StageMessage& message);
  void copy_kv(StageMessage& message);
  LocalRunner& runner(std::uint32_t number);

  const LoadedModel& model_;
  KvBuffers cache_;
  std::set<PipelineKey> ready_;
  std::map<std::uint32_t, std::unique_ptr<LocalRunner>> runners_;
};

}  // namespace skipstone::exec
