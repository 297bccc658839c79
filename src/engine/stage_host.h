// A process or thread that has some of a model's layers, but not the first ones: reports its resources, loads its layers and runs stage
// commands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/model_loading.h"
#include "engine/stages.h"
#include "exec/link.h"
#include "exec/stage.h"

namespace skipstone::engine {

class StageHost {
 public:
  /// `options`: the device, and the model if it has no path. `number`: of the stage, from 1 on. `sharers`: number of stages that share this
  /// machine's memory, if its device uses system memory.
  StageHost(EngineOptions options, std::uint32_t number, std::string place, std::uint32_t sharers);
  /// Takes messages from `in` and sends them on to `out`, until StageCommand::end. Sends errors of this stage on as StageCommand::failed.
  /// Throws what the links throw.
  void serve(exec::Link& in, exec::Link& out);

 private:
  void take(exec::StageMessage& message);
  void open();
  void load(const StageSetup& setup);
  std::string described() const;

  EngineOptions options_;
  std::uint32_t number_, sharers_;
  std::string place_;
  exec::LoadedModel model_;
  MemoryPlan memory_;
  std::unique_ptr<exec::Stage> stage_;
};

}  // namespace skipstone::engine
