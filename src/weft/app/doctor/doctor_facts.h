// Facts about this machine: processor, memory, disk, clock, open files.
//
// Threads: any. Fails: never; facts that the system does not report are zero or empty.
#pragma once

#include <cstdint>
#include <string>

#include "weft/app/doctor/doctor_checks.h"

namespace weft {

ProcessorFacts processor_facts();
MemoryFacts memory_facts();
// The disk of the folder, or of its nearest parent that exists.
DiskFacts disk_facts(const std::string& folder);
ClockFacts clock_facts();
std::uint64_t open_files_max();

// The value of "NAME:   123 kB" in the text of /proc/meminfo, in bytes; 0 if it is not there.
std::uint64_t meminfo_bytes(const std::string& text, const std::string& name);

}  // namespace weft
