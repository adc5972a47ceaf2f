// Everything for a user's program that trains with peers (docs/embedding.md, "A member").
//
// The interface of weft::swarm, as weft/weft.h is of weft::learning: what this names is public, and
// other headers are installed only where one of these includes them.
#pragma once

#include "weft/collective/swarm/member_options.h"
#include "weft/swarm/swarm_trainer.h"
