// The controller over drafters of different kinds.
#pragma once

#include <memory>

#include "spec/drafter.h"
#include "spec/options.h"

namespace skipstone::spec {

/// auto, or auto:NAME,NAME,... for other members than the usual ones.
std::unique_ptr<Drafter> make_auto(Options& options);

}  // namespace skipstone::spec
