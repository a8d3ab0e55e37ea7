#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(triple_des_task)
