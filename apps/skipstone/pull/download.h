// One file of a hub into the cache: continued where an earlier download ended, under its final name only when its checksum is right.
#pragma once

#include "pull/hub.h"
#include "pull/hub_cache.h"

namespace cli::pull {

/// Returns when the cache has the bytes of `file`, which the hub's list or Hub::complete() has filled in. Another program that downloads
/// it is waited for. Throws Failure; what has come so far stays for the next start.
void download(Hub& hub, const ModelName& model, const std::string& commit, const RemoteFile& file, const HubCache& cache);

}  // namespace cli::pull
