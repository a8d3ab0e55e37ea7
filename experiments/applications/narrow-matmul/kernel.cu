#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(multiply_task, multiply_tiled_task)

#include "../../papers/narrow-tasks/cuda/gemtc.h"
#include "../../papers/narrow-tasks/cuda/pagoda.h"
#include "../../papers/narrow-tasks/cuda/fusion.h"
